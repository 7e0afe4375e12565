// SPDX-License-Identifier: BSD-2-Clause
// How much a test does: in how many steps, and on which CPUs.
#pragma once

#include <sched.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <thread>

namespace olaf::test {

/// A number that the environment sets: OLAF_STEPS, OLAF_SEED.
inline std::uint64_t from_environment(const char *name, std::uint64_t otherwise) {
    const char *text = std::getenv(name);
    return text ? std::strtoull(text, nullptr, 0) : otherwise;
}

inline unsigned cpus() {
    return std::max(1u, std::thread::hardware_concurrency());
}

/// The calling thread runs on that CPU alone. Behind the last CPU they begin anew.
inline void pin_to(unsigned cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu % cpus(), &set);
    sched_setaffinity(0, sizeof set, &set);
}

} // namespace olaf::test
