// SPDX-License-Identifier: BSD-2-Clause
// The command lines of `olaf send` and `olaf receive`, and what they print.
#pragma once

#include "cli.hpp"
#include "loader/traffic/receiver.hpp"
#include "loader/traffic/sender.hpp"

namespace CLI {
class App;
}

namespace olaf {

struct CommandOptions;

/// Declares send and receive.
void add_traffic(CLI::App &root, CommandOptions &into);

// What send and receive show: a line a second as notes, and what they found.

/// Lines of progress; none with --json, unless with -v.
SendWatcher send_watcher(const GlobalOptions &global);
ReceiveWatcher receive_watcher(const GlobalOptions &global);

void print(const SendSummary &summary, bool json);
void print(const ReceiveSummary &summary, bool json);

} // namespace olaf
