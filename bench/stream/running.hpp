// SPDX-License-Identifier: BSD-2-Clause
// A contender's thread on its CPU, and how long it has run.
#pragma once

#include <cstdint>
#include <ctime>
#include <functional>
#include <thread>

#include <pthread.h>

#include "bench/support.hpp"
#include "setting.hpp"

namespace olaf::bench {

class Running {
  public:
    /// Calls `step` again and again, until the object goes. The thread goes before NAPI's and the
    /// generator's, so that it takes each batch as soon as it is in.
    void run(std::function<void()> step, int cpu = Setting::contender_cpu, int priority = 3) {
        thread_ =
            std::jthread([step = std::move(step), cpu, priority](const std::stop_token &stop) {
                must(own_cpu(cpu, priority));
                while (!stop.stop_requested())
                    step();
            });
    }

    /// Nanoseconds on a CPU; 0 before run().
    [[nodiscard]] std::uint64_t ns() const {
        clockid_t clock{};
        timespec time{};
        auto thread = const_cast<std::jthread &>(thread_).native_handle();
        if (!thread_.joinable() || pthread_getcpuclockid(thread, &clock) != 0 ||
            clock_gettime(clock, &time) != 0)
            return 0;
        return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
               static_cast<std::uint64_t>(time.tv_nsec);
    }

  private:
    std::jthread thread_;
};

} // namespace olaf::bench
