// SPDX-License-Identifier: BSD-2-Clause
// What send and receive show: a line a second as notes, and what they found.
#pragma once

#include "cli.hpp"
#include "loader/traffic/receiver.hpp"
#include "loader/traffic/sender.hpp"

namespace olaf {

/// Lines of progress; none with --json, unless with -v.
SendWatcher send_watcher(const GlobalOptions &global);
ReceiveWatcher receive_watcher(const GlobalOptions &global);

void print(const SendSummary &summary, bool json);
void print(const ReceiveSummary &summary, bool json);

} // namespace olaf
