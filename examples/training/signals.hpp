// SPDX-License-Identifier: BSD-2-Clause
// Ending: SIGINT and SIGTERM are waited for, not handled, so no code ever runs
// inside a signal handler.
#pragma once

#include <cerrno>
#include <chrono>
#include <csignal>
#include <ctime>
#include <pthread.h>

namespace olaf::training {

class StopSignals {
  public:
    /// Before any thread starts, so that all of them leave the signals alone.
    StopSignals() {
        sigemptyset(&set_);
        sigaddset(&set_, SIGINT);
        sigaddset(&set_, SIGTERM);
        pthread_sigmask(SIG_BLOCK, &set_, nullptr);
    }

    /// Whether one has come, waiting for it at most this long.
    bool wait(std::chrono::nanoseconds timeout) const {
        const auto end = std::chrono::steady_clock::now() + timeout;
        for (;;) {
            const auto left =
                std::max(std::chrono::nanoseconds(0),
                         std::chrono::nanoseconds(end - std::chrono::steady_clock::now()));
            const timespec limit = {.tv_sec = static_cast<time_t>(left.count() / 1'000'000'000),
                                    .tv_nsec = static_cast<long>(left.count() % 1'000'000'000)};
            if (sigtimedwait(&set_, nullptr, &limit) > 0)
                return true;
            if (errno != EINTR)
                return false;
        }
    }

  private:
    sigset_t set_{};
};

} // namespace olaf::training
