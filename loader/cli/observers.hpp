// SPDX-License-Identifier: BSD-2-Clause
// The command line of the observing commands.
#pragma once

namespace CLI {
class App;
}

namespace olaf {

struct CommandOptions;

/// Declares trace, top, report and serve.
void add_observers(CLI::App &root, CommandOptions &into);

} // namespace olaf
