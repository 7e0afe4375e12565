// SPDX-License-Identifier: BSD-2-Clause
// The clocks that kernel programs stamp with and are stamped by, and that of calendars.
#pragma once

#include <cstdint>
#include <ctime>

namespace olaf {

inline constexpr std::uint64_t millisecond = 1'000'000; ///< in ns

/// CLOCK_MONOTONIC, the kernel programs' bpf_ktime_get_ns().
inline std::uint64_t monotonic_ns() {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(now.tv_nsec);
}

/// CLOCK_BOOTTIME, by which the kernel says when a program was loaded. It goes on in suspend.
inline std::uint64_t boottime_ns() {
    timespec now{};
    ::clock_gettime(CLOCK_BOOTTIME, &now);
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
