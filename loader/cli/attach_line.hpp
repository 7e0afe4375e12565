// SPDX-License-Identifier: BSD-2-Clause
// The command line of `olaf attach`.
#pragma once

namespace CLI {
class App;
}

namespace olaf {

struct AttachOptions;

/// Declares attach.
void add_attach(CLI::App &root, AttachOptions &options);

} // namespace olaf
