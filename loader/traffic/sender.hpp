// SPDX-License-Identifier: BSD-2-Clause
// `olaf send`: updates as a fleet of workers would send them.
#pragma once

#include <functional>

#include "summary.hpp"

namespace olaf {

/// What happened in the last second or so, to be shown as it happens.
struct SendProgress {
    std::uint64_t at_ns = 0;     ///< since the start
    std::uint64_t lasted_ns = 0; ///< this part of it
    std::uint64_t sent = 0;      ///< in this part
    std::uint64_t frame_bytes = 0;
    std::uint64_t total_sent = 0, total_received = 0; ///< as far as was told
    Spread round_trip_ns = {};                        ///< since the start
};
using SendWatcher = std::function<void(const SendProgress &progress)>;

/// Sends until the time is over, so many were sent, or SIGINT or SIGTERM; then waits until the
/// server has told of all, or of no more. Fails where nothing was sent; what ends it later is in
/// the summary.
Result<SendSummary> send_updates(const SendOptions &options, const SendWatcher &watcher);

} // namespace olaf
