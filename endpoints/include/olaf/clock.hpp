// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace olaf {

/// CLOCK_TAI in nanoseconds, the clock of generated_ns: no leap seconds. Hosts are
/// comparable only if they agree on the TAI offset; one that never had it set (by
/// chrony, ntpd or ptp4l) runs 37 s behind one that had. Thread-safe.
[[nodiscard]] std::int64_t tai_now_ns();

} // namespace olaf
