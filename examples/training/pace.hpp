// SPDX-License-Identifier: BSD-2-Clause
// How fast a worker is: what it does takes a given time, more or less, however fast it computes.
#pragma once

#include "random.hpp"

#include <algorithm>
#include <chrono>

namespace olaf::training {

class Pace {
  public:
    using Clock = std::chrono::steady_clock;

    explicit Pace(Random random) : random_(random) {}

    /// When what takes so long is over, ±10 %, so that workers started together don't stay in step.
    /// A worker that was held up is late, and doesn't catch up with a burst.
    Clock::time_point after(std::chrono::nanoseconds time) {
        const auto now = Clock::now();
        due_ += std::chrono::nanoseconds(static_cast<std::int64_t>(
            static_cast<float>(time.count()) * random_.uniform(0.9F, 1.1F)));
        late_ += std::max(now - due_, Clock::duration(0));
        due_ = std::max(due_, now);
        return due_;
    }

    /// What comes next begins now: what was waited for is nobody's lateness.
    void from_now() { due_ = Clock::now(); }

    /// By how much it was late, in all.
    [[nodiscard]] std::chrono::nanoseconds late() const { return late_; }

  private:
    Random random_;
    Clock::time_point due_ = Clock::now();
    Clock::duration late_{};
};

} // namespace olaf::training
