// SPDX-License-Identifier: BSD-2-Clause
// Waiting for a moment, or for a person or a service manager to say stop.
#pragma once

#include <cstdint>

#include "fd.hpp"
#include "olaf/result.hpp"

namespace olaf {

/// SIGINT and SIGTERM become an event of this process, to end cleanly on, while this lives.
class Interrupts {
  public:
    static Result<Interrupts> catch_them();

    /// Waits until the moment (CLOCK_MONOTONIC); true if interrupted before it.
    [[nodiscard]] Result<bool> until(std::uint64_t deadline_ns) const;

  private:
    explicit Interrupts(Fd fd) : fd_(std::move(fd)) {}
    Fd fd_;
};

} // namespace olaf
