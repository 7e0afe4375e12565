// SPDX-License-Identifier: BSD-2-Clause
// The clock that kernel programs stamp with, and that of calendars.
#pragma once

#include <cstdint>
#include <ctime>

namespace olaf {

/// CLOCK_MONOTONIC, the kernel programs' bpf_ktime_get_ns().
inline std::uint64_t monotonic_ns() {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(now.tv_nsec);
}

/// CLOCK_REALTIME, for people.
inline std::uint64_t realtime_ns() {
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(now.tv_nsec);
}

} // namespace olaf
