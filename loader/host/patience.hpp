// SPDX-License-Identifier: BSD-2-Clause
// Waiting for what another CPU does within nanoseconds, unless that CPU stands still meanwhile.
#pragma once

#include <cstdint>
#include <thread>

#include "clock.hpp"

namespace olaf {

/// for (Patience patience; patience.lasts();) try_it();
///
/// A virtual machine's CPU may stand still for long in the middle of anything: a number of tries would say nothing.
/// So the clock decides, and each try but the first gives way to whoever else is to run here.
class Patience {
  public:
    /// Whether to try (again). True at least twice, and then for a second.
    bool lasts() {
        if (tries_++ == 0) {
            until_ns_ = monotonic_ns() + length_ns;
            return true;
        }
        if (tries_ > 2 && monotonic_ns() > until_ns_)
            return false;
        std::this_thread::yield();
        return true;
    }

  private:
    static constexpr std::uint64_t length_ns = 1'000'000'000;
    std::uint64_t tries_ = 0, until_ns_ = 0;
};

} // namespace olaf
