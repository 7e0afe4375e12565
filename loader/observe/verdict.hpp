// SPDX-License-Identifier: BSD-2-Clause
// How a queue is, in a few sentences: a function of what was read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reading.hpp"

namespace olaf {

/// From good to bad.
enum class Health {
    idle,     ///< nothing comes
    working,  ///< updates come and leave
    impaired, ///< it goes on, but updates are refused, lost or pass the queue by
    blocked,  ///< nothing comes in, or what waits can't leave
};
std::string_view health_name(Health health);

struct Finding {
    Health health = Health::idle;
    std::string text;                      ///< a sentence without its full stop
    std::optional<std::uint64_t> since_ns; ///< how long ago it began; nothing: not known
    std::string remedy;                    ///< "": there is nothing to do
    /// Of what has ended: how long ago it happened last. Nothing: it goes on, or isn't known.
    std::optional<std::uint64_t> last_ns = {};
};

struct QueueVerdict {
    Finding first;                ///< the worst
    std::vector<Finding> besides; ///< what else there is to know, the worst first
};

/// Counters are those since attach or `olaf reset`: a loss of less than one in a hundred is told
/// of, and doesn't make a queue impaired. Nor does one that hasn't happened for a minute.
QueueVerdict judge(const Attachment &attachment, const QueueReading &reading,
                   const HostState &host);

/// "blocked for 12.3s: out is down"; of what has ended "impaired: ...; the last one 25.0s ago".
std::string verdict_line(const Finding &finding);

/// One that stands beside the first. What impairs nothing is told without a state:
/// "...; going on for 12.3s", or "...; the last one 25.0s ago".
std::string also_line(const Finding &finding);

} // namespace olaf
