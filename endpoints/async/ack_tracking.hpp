// SPDX-License-Identifier: BSD-2-Clause
// What a worker learns from ACKs: which of its updates were answered, and how many ACKs it missed.
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

/// Counts model versions that no ACK brought, where each ACK goes to the whole cluster.
/// Reordering among the latest 64 is forgiven. Not thread-safe.
class MissedVersions {
  public:
    /// An ACK brought `version`; `believed` if its weights were taken, which for an old
    /// version means that the server counts anew.
    void saw(std::uint32_t version, bool believed) {
        const auto ahead = static_cast<std::int32_t>(version - newest_);
        if (!started_ || (believed && ahead <= -kWindow)) {
            started_ = true;
            newest_ = version;
            came_ = ~std::uint64_t{0}; // what was before isn't missed
        } else if (ahead > 0) {
            missed_ += static_cast<std::uint64_t>(ahead) - 1;
            came_ = ahead < kWindow ? came_ << ahead | 1 : 1;
            newest_ = version;
        } else if (const std::uint64_t bit = bit_of(-std::int64_t{ahead});
                   bit != 0 && (came_ & bit) == 0) {
            came_ |= bit;
            missed_--;
        }
    }
    [[nodiscard]] std::uint64_t count() const { return missed_; }

  private:
    static constexpr std::int32_t kWindow = 64;
    static constexpr std::uint64_t bit_of(std::int64_t behind) {
        return behind < kWindow ? std::uint64_t{1} << behind : 0;
    }

    bool started_ = false;
    std::uint32_t newest_ = 0;
    std::uint64_t came_ = 0; // bit i: newest_ − i did
    std::uint64_t missed_ = 0;
};

} // namespace olaf
