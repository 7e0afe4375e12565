// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>

namespace olaf {

/// How a worker's updates fare. An update is answered when an ACK echoes its sequence and
/// time; of those folded together only the newest is, by its sender's. Durations are in
/// nanoseconds of this host's clocks, so no other host's clock matters.
struct WorkerReport {
    /// Of the update answered last; zero before.
    /// Versions that the model had gone on, since its gradient's, when the ACK was sent: a step
    /// that the update itself made is one of them.
    std::uint32_t version_lag = 0;
    std::int64_t update_age_ns = 0; ///< from generated_ns to the ACK's arrival
    std::int64_t round_trip_ns = 0; ///< from push() to the ACK's arrival

    std::int64_t smoothed_round_trip_ns = 0; ///< as TCP does it: 7/8 old + 1/8 new (RFC 6298)
    std::int64_t least_round_trip_ns = 0;

    std::uint64_t answered = 0; ///< updates
    /// Updates that a later one's answer passed over: lost, folded into another worker's, or
    /// their ACK lost.
    std::uint64_t unanswered = 0;
    /// Model versions that no ACK brought: at least so many ACKs were lost. Counted from
    /// when ACKs are seen to go to the whole cluster; where only the sender is answered
    /// nobody can tell, and it stays 0.
    std::uint64_t acks_lost = 0;
    /// IP packets that the way to the server carries, in bytes, if a router called the worker's
    /// too long; else 0. Give it as mtu to the worker and to the server: larger ones are lost.
    std::size_t way_mtu = 0;
};

} // namespace olaf
