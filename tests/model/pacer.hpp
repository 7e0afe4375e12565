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

/// Clusters that sent an update in the last activity window: two epochs of one window each.
struct Activity {
    std::uint64_t window_ns = 1'000'000'000;
    std::uint64_t epoch_start = 0;
    std::map<std::uint32_t, std::uint64_t> seen; ///< cluster -> start of the last epoch seen in
    bool started = false;

    void arrive(std::uint64_t now, std::uint32_t cluster) {
        if (!started || now >= epoch_start + 2 * window_ns) { // a gap: nobody was active before
            seen.clear();
            epoch_start = now;
            started = true;
        } else if (now >= epoch_start + window_ns) {
            std::erase_if(seen, [&](auto &entry) { return entry.second < epoch_start; });
            epoch_start += window_ns;
        }
        seen[cluster] = epoch_start;
    }

    [[nodiscard]] std::uint32_t active(std::uint64_t now) const {
        auto count_since = [&](std::uint64_t epoch) {
            return static_cast<std::uint32_t>(std::ranges::count_if(
                seen, [&](auto &entry) { return entry.second >= epoch; }));
        };
        if (!started || now >= epoch_start + 2 * window_ns)
            return 0;
        return count_since(now < epoch_start + window_ns ? 0 : epoch_start);
    }
};

} // namespace olaf::model
