// SPDX-License-Identifier: BSD-2-Clause
// A thread of execution that gives way only where it says so.
#pragma once

#include <csetjmp>
#include <functional>
#include <memory>

namespace olaf::interleave {

class Fiber {
  public:
    /// The body is run from its beginning by the first resume() after a restart().
    explicit Fiber(std::function<void()> body);
    Fiber(const Fiber &) = delete;
    Fiber &operator=(const Fiber &) = delete;

    /// Forgets where it is. What its frames own must not need a destructor.
    void restart() { started_ = finished_ = false; }
    /// From outside: runs it until it yields or its body ends.
    void resume();
    /// From inside.
    void yield();
    [[nodiscard]] bool finished() const { return finished_; }
    /// Is this address one of its stack's?
    [[nodiscard]] bool owns(const void *address) const;

  private:
    void start();
    void run();
    static void enter(unsigned high, unsigned low);

    std::function<void()> body_;
    std::unique_ptr<char[]> stack_;
    std::jmp_buf outside_{}, inside_{};
    bool started_ = false, finished_ = false;
};

} // namespace olaf::interleave
