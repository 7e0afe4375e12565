// SPDX-License-Identifier: BSD-2-Clause
#include <olaf/clock.hpp>

#include <ctime>

namespace olaf {

std::int64_t tai_now_ns() {
    timespec now{};
    // Can't fail: the clock exists since Linux 3.10.
    clock_gettime(CLOCK_TAI, &now);
    return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

} // namespace olaf
