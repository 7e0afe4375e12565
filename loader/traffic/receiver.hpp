// SPDX-License-Identifier: BSD-2-Clause
// `olaf receive`: the other end of `olaf send`, a parameter server that keeps books.
#pragma once

#include <functional>

#include "summary.hpp"

namespace olaf {

/// What happened in the last second or so, to be shown as it happens.
struct ReceiveProgress {
    std::uint64_t at_ns = 0;                 ///< since the first update
    std::uint64_t lasted_ns = 0;             ///< this part of it
    std::uint64_t messages = 0, updates = 0; ///< in this part
    std::uint64_t clusters = 0;              ///< heard of so far
};

struct ReceiveWatcher {
    std::function<void(const std::string &address)> listening;
    std::function<void(const ReceiveProgress &progress)> progress;
};

/// Receives until the time is over, SIGINT or SIGTERM, or a silence if one is given.
Result<ReceiveSummary> receive_updates(const ReceiveOptions &options,
                                       const ReceiveWatcher &watcher);

} // namespace olaf
