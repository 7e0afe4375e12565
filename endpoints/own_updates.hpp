// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace olaf {

/// A worker's latest updates, and which of them were answered. Not thread-safe.
class OwnUpdates {
  public:
    using Clock = std::chrono::steady_clock;
    static constexpr std::size_t kKept = 64; ///< answers to older ones aren't recognised

    struct Answered {
        std::chrono::nanoseconds round_trip;
        std::uint32_t model_version; ///< that its gradient was computed on
    };

    /// Sequences count up from 1, and wrap.
    void sent(std::uint32_t sequence, std::int64_t generated_ns, std::uint32_t model_version,
              Clock::time_point now);
    /// The update that an ACK with this echo answers, if it is one of ours and the first
    /// answer to it. The sequence alone could be another worker's.
    std::optional<Answered> answered(std::uint32_t sequence, std::int64_t generated_ns,
                                     Clock::time_point now);

    /// The sequence of the last one sent.
    [[nodiscard]] std::uint32_t last() const { return last_; }
    /// Passed over by a later one's answer.
    [[nodiscard]] std::uint64_t unanswered() const { return unanswered_; }

  private:
    struct Sent {
        bool waiting = false;
        std::uint32_t sequence = 0;
        std::int64_t generated_ns = 0;
        std::uint32_t model_version = 0;
        Clock::time_point at = {};
    };

    std::array<Sent, kKept> kept_ = {}; // by sequence modulo kKept
    std::uint32_t last_ = 0;
    std::uint32_t newest_answered_ = 0;
    std::uint64_t unanswered_ = 0;
};

} // namespace olaf
