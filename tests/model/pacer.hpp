// SPDX-License-Identifier: BSD-2-Clause
// When the link is free (GCRA), and how many clusters are active.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>

namespace olaf::model {

/// A departure starts no earlier than the one before it plus its serialisation time. Idle time
/// saves credit for one frame or one drain interval, whichever is longer.
struct Pacer {
    std::uint64_t ns_per_byte_q24 = 0; ///< 0: unlimited
    std::uint64_t drain_interval_ns = 100'000;
    std::uint64_t next = 0;

    [[nodiscard]] bool due(std::uint64_t now) const { return now >= next; }

    void depart(std::uint64_t now, std::uint64_t bytes) {
        std::uint64_t serialisation = (bytes * ns_per_byte_q24) >> 24;
        std::uint64_t credit = std::max(serialisation, drain_interval_ns);
        std::uint64_t earliest = now > credit ? now - credit : 0;
        next = std::max(next, earliest) + serialisation;
    }
};

/// Clusters that sent an update lately. Time is cut into epochs of one window; what counts is the
/// current epoch and, until it is a window old, the one before it.
struct Activity {
    std::uint64_t window_ns = 1'000'000'000;
    std::map<std::uint32_t, std::uint64_t> last_epoch; ///< of each cluster

    void arrive(std::uint64_t now, std::uint32_t cluster) {
        last_epoch[cluster] = now / window_ns;
    }

    [[nodiscard]] std::uint32_t active(std::uint64_t now) const {
        return static_cast<std::uint32_t>(std::ranges::count_if(
            last_epoch, [&](auto &seen) { return seen.second + 1 >= now / window_ns; }));
    }
};

} // namespace olaf::model
