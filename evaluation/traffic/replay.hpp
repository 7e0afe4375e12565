// SPDX-License-Identifier: BSD-2-Clause
// Plays a trace: sends each update when its worker had it ready, from one socket.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <olaf/address.hpp>

#include "trace.hpp"

namespace olaf::evaluation {

struct ReplayOptions {
    Address server;
    std::uint32_t lanes = 32; ///< of an update, its checksum lane among them
    std::uint64_t flood = 0;  ///< so many updates as fast as can be, times left aside; 0: by time
    std::int64_t send_again_ns =
        0;                     ///< what isn't answered for about so long is sent again; 0: never
    std::int64_t limit_ns = 0; ///< of all of it, with sending again
};

struct ReplaySummary {
    std::uint64_t sent = 0;     ///< updates of the trace that this host's kernel took
    std::uint64_t again = 0;    ///< sent again, not in `sent`
    std::uint64_t unsent = 0;   ///< the kernel didn't take
    std::uint64_t missing = 0;  ///< of those to be sent again, still unanswered at the end
    std::int64_t lasted_ns = 0; ///< from the first update until the last was sent, or answered
    std::int64_t latest_ns = 0; ///< how late an update was at worst
    double late_mean_ns = 0;
};

/// Plays it to its end; with send_again_ns until every update has arrived, or limit_ns is over.
Result<ReplaySummary> replay(const std::vector<Moment> &trace, const ReplayOptions &options);

} // namespace olaf::evaluation
