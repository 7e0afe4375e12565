// SPDX-License-Identifier: BSD-2-Clause
// Trying again while another CPU does within nanoseconds what a try needs, unless that CPU stands
// still.
#pragma once

#include <cstdint>
#include <thread>

#include "clock.hpp"

namespace olaf {

/// for (Retry retry; retry.again();) try_it();
///
/// A virtual machine's CPU may stand still for long at any instruction, so no number of tries is
/// enough. The clock decides, and each try but the first lets other threads of this CPU run before
/// it.
class Retry {
  public:
    /// Whether to try (again). True at least twice, and then for a second.
    bool again() {
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
