// SPDX-License-Identifier: BSD-2-Clause
// A device's packets are handled by a kernel thread of its own, on one CPU.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "olaf/result.hpp"

namespace olaf::bench {

class Napi {
  public:
    /// The device is in this thread's network namespace and is up; NAPI is on.
    static Result<Napi> make(const char *device, int cpu);

    /// Nanoseconds that the threads have run.
    [[nodiscard]] std::uint64_t ns() const;

  private:
    std::vector<pid_t> threads_;
};

} // namespace olaf::bench
