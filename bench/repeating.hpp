// SPDX-License-Identifier: BSD-2-Clause
// A program that is run again and again on one CPU, in one long system call: the kernel waits for an
// RCU grace period before and after each.
#pragma once

#include <functional>
#include <memory>

#include <olaf/result.hpp>

namespace olaf::bench {

class Repeating {
    struct Thread;

  public:
    Repeating();
    Repeating(Repeating &&) noexcept;
    ~Repeating();

    /// Calls `run` in a thread of its own on `cpu`. It goes on until a signal comes: see run_live().
    /// An error of its ends the program.
    void start(int cpu, std::function<Result<void>()> run);
    /// Interrupts it and waits until it has returned. Without a start: nothing.
    void stop();

  private:
    std::unique_ptr<Thread> thread_;
};

} // namespace olaf::bench
