// SPDX-License-Identifier: BSD-2-Clause
// The state of a queue, read from its maps: sums, and what follows from them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "loader/text/counters.hpp"
#include "olaf/result.hpp"

namespace olaf {

/// Adds the counters of one or more slots to others.
olaf_slot_counters &operator+=(olaf_slot_counters &sum, const olaf_slot_counters &more);

/// Whether the output takes what XDP redirects to it, of all CPUs.
struct XdpGate {
    std::uint32_t shut = 0; ///< CPUs
    int error = 0;          ///< what a refusal said, a positive errno
};

struct Snapshot {
    Levels levels;
    std::uint32_t active_clusters = 0;
    olaf_slot_counters slots{}; ///< of every cluster
    olaf_counters counters{}; ///< of every CPU
    olaf_ack_counters acks{}; ///< of every CPU
    olaf_ring ring{};
    bool emptying = false; ///< a command is emptying the queue
    std::optional<olaf_window> window; ///< nothing without --window
    olaf_gate gate{};
    XdpGate xdp_gate;
    std::vector<olaf_hop> unready_hops; ///< that something waits for and that have no address
    std::uint64_t oldest_arrival_ns = 0; ///< of the updates that wait; 0: none does
    std::vector<olaf_slot_counters> clusters; ///< by id
    std::vector<std::uint32_t> waiting;       ///< messages that wait, of each cluster by id
};

/// Opens a map by name, for as long as the reading lasts; -1: there is none.
using MapFinder = std::function<int(const char *name)>;

/// While packets are in flight, the parts may be from different moments. At rest they agree.
Result<Snapshot> read_snapshot(const olaf_config &config, const MapFinder &map_fd);

/// How long the way out has taken nothing, at that time of CLOCK_MONOTONIC; 0: it takes departures.
std::uint64_t blocked_ns(const olaf_gate &gate, std::uint64_t now_ns);

/// How long a departure waits for its ACK now, before it is forgiven.
std::uint64_t window_timeout_ns(const olaf_window &window);

/// How many departures may be unacknowledged now.
std::uint32_t window_size(const olaf_config &config, const olaf_window &window);

/// The window alone; meaningful only if the queue has one.
Result<olaf_window> read_window(int fd);
/// Sums over CPUs.
Result<olaf_counters> read_counters(int counters_fd);

/// The ring alone: cheap enough to poll.
Result<olaf_ring> read_ring(int fd);

} // namespace olaf
