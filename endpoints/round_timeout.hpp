// SPDX-License-Identifier: BSD-2-Clause
// When to send a contribution again: RFC 6298's estimate of the time from sending to the result.
#pragma once

#include <algorithm>
#include <chrono>

namespace olaf {

/// Not thread-safe.
class RoundTimeout {
  public:
    using Time = std::chrono::nanoseconds;

    static constexpr Time kFirst = std::chrono::milliseconds(5);
    /// What lies behind it is loss, not a scheduler: members that share CPUs take turns of 3 ms.
    static constexpr Time kLeast = std::chrono::milliseconds(3);
    static constexpr Time kMost = std::chrono::milliseconds(200);

    /// A result came for what was sent once (Karn: others don't say which sending it answers), or
    /// for a first sending, as the second one has got an answer of its own.
    void measured(Time turnaround) {
        if (smoothed_ == Time(0)) {
            smoothed_ = turnaround;
            deviation_ = turnaround / 2;
        } else {
            deviation_ += (std::chrono::abs(smoothed_ - turnaround) - deviation_) / 4;
            smoothed_ += (turnaround - smoothed_) / 8;
        }
        backoff_ = 0;
    }
    /// One came for what was sent `sendings` times: as long as that goes on, begin there.
    void ambiguous(unsigned sendings) { backoff_ = std::max(backoff_, doublings(sendings)); }

    /// What was sent needn't be sent again: what comes next is a new question.
    void over() { backoff_ = 0; }

    /// How long to wait after so many sendings of the same chunk; at least one.
    [[nodiscard]] Time after(unsigned sendings) const {
        const Time once =
            smoothed_ == Time(0) ? kFirst : std::max(kLeast, smoothed_ + 4 * deviation_);
        const unsigned shift = std::min(kMostDoublings, backoff_ + doublings(sendings));
        return std::min(kMost, once * (1 << shift));
    }
    /// From sending to the result, smoothed; 0 if none has come.
    [[nodiscard]] Time smoothed() const { return smoothed_; }

  private:
    static constexpr unsigned kMostDoublings = 10;
    static unsigned doublings(unsigned sendings) { return std::min(sendings - 1, kMostDoublings); }

    Time smoothed_{0};
    Time deviation_{0};
    unsigned backoff_ = 0;
};

} // namespace olaf
