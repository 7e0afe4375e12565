// SPDX-License-Identifier: BSD-2-Clause
// The state of a queue, read from its maps: sums, and what follows from them.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "olaf/acks.h"
#include "olaf/queue.h"
#include "olaf/result.hpp"
#include "olaf/window.h"

namespace olaf {

/// Counters of some slots, added up.
struct SlotSums {
    std::uint64_t passed_through = 0, appended = 0, aggregated = 0, replaced = 0;
    std::uint64_t departed_riding = 0, departed_drain = 0;
    std::uint64_t dropped_full = 0, dropped_reward = 0, dropped_sealed = 0;
    std::uint64_t dropped_misfit = 0;
    std::uint64_t updates_out = 0, updates_superseded = 0, updates_dropped = 0;

    [[nodiscard]] std::uint64_t departed() const { return departed_riding + departed_drain; }
    void add(const olaf_slot_counters &slot);
    void add(const SlotSums &other);
};

struct Snapshot {
    std::uint64_t queue_length = 0;    ///< places in use
    std::uint64_t updates_waiting = 0; ///< sum of count in them
    std::uint32_t active_clusters = 0;
    SlotSums slots;           ///< of every cluster
    olaf_counters counters{}; ///< of every CPU
    olaf_ack_counters acks{}; ///< of every CPU
    olaf_ring ring{};
    bool draining = false; ///< a command is emptying the queue
    olaf_window window{}; ///< all zero without --window
    olaf_gate gate{};
    std::uint64_t next_hops_unready = 0; ///< that something waits for and that have no address
    std::vector<SlotSums> clusters; ///< by id
};

/// Opens a map by name for as long as the reading lasts; a map of the kernel's, so -1 is none.
using MapFinder = std::function<int(const char *name)>;

/// With packets in flight the parts may be of different moments; without, they agree.
Result<Snapshot> read_snapshot(const olaf_config &config, const MapFinder &map_fd);

/// How long the way out has taken nothing; 0: it takes departures.
std::uint64_t blocked_ns(const olaf_gate &gate);

/// How long an ACK is waited for now: departures that get none wait so long.
std::uint64_t window_timeout_ns(const olaf_window &window);

/// The window alone; meaningful only if the queue has one.
Result<olaf_window> read_window(int window_fd);
/// Sums over CPUs.
Result<olaf_counters> read_counters(int counters_fd);

/// The ring alone: cheap enough to poll.
Result<olaf_ring> read_ring(int ring_fd);

} // namespace olaf
