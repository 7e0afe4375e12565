// SPDX-License-Identifier: BSD-2-Clause
// The command line of send and receive.
#pragma once

namespace CLI {
class App;
}

namespace olaf {

struct CommandOptions;

/// Declares send and receive.
void add_traffic(CLI::App &root, CommandOptions &into);

} // namespace olaf
