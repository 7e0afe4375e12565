// SPDX-License-Identifier: BSD-2-Clause
// Signals as something to wait for: a command that is interrupted ends in order.
#pragma once

#include <csignal>
#include <cstdint>
#include <initializer_list>

#include "fd.hpp"
#include "olaf/result.hpp"

namespace olaf {

/// Holds signals back from this thread and those that it starts. On its end the thread takes them
/// again as it did before; those that came until then have no effect any more.
class Signals {
  public:
    static Result<Signals> hold(std::initializer_list<int> signals);
    Signals(Signals &&) noexcept = default;
    Signals &operator=(Signals &&) = delete;
    ~Signals();

    /// Readable when one has come.
    [[nodiscard]] int fd() const { return fd_.get(); }
    /// The next one that has come; 0 if none.
    [[nodiscard]] int take() const;
    /// Waits until the moment (CLOCK_MONOTONIC); true if a signal came before it, which is then
    /// still to be taken.
    [[nodiscard]] Result<bool> until(std::uint64_t deadline_ns) const;

  private:
    Signals(Fd fd, const sigset_t &before) : fd_(std::move(fd)), before_(before) {}
    Fd fd_;
    sigset_t before_;
};

} // namespace olaf
