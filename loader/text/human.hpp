// SPDX-License-Identifier: BSD-2-Clause
// Numbers for a person's eye: three digits and a unit, never wider than seven columns.
#pragma once

#include <cstdint>
#include <string>

namespace olaf {

std::string human_duration(double ns); ///< "870ns", "12.3ms", "4.56s", "3.20h"; for what was measured
std::string human_count(double value); ///< "0", "12.5", "870", "12.3k", "4.56M"

/// "2026-11-22T07:31:05Z", of CLOCK_REALTIME.
std::string utc_text(std::uint64_t realtime_ns);

inline constexpr auto tai_cause =
    "CLOCK_TAI's offset is set on one host only (chrony and ptp4l set it, timesyncd doesn't)";
/// "generated_ns is 37 s behind this host's clock: ...", of senders whose updates seem so much older than they
/// can be; negative: younger.
std::string clocks_text(std::int64_t behind_ns);

} // namespace olaf
