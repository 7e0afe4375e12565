// SPDX-License-Identifier: BSD-2-Clause
// When a worker of a job sends a contribution, and when it sends it again: RFC 6298's estimate of
// the time from sending to the result, and a congestion window.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace olaf {

/// When to send a contribution again. Not thread-safe.
///
/// If one member has lost a frame, the others wait for its repetition and measure long times. If
/// their waits followed these times, each wait would make the next one longer. So the usual time
/// grows by an eighth a round trip at most, and one long time makes the wait four times the usual
/// time at most.
class RoundTimeout {
  public:
    using Time = std::chrono::nanoseconds;

    static constexpr Time kFirst = std::chrono::milliseconds(5);
    /// What lies behind it is loss, not a scheduler or a timer.
    static constexpr Time kLeast = std::chrono::microseconds(250);
    static constexpr Time kMost = std::chrono::milliseconds(200);
    /// Frames overtake each other by so little even where nothing is lost: on several queues, say.
    static constexpr Time kLeastReordering = std::chrono::microseconds(100);

    /// A result came for what was sent once (Karn: others don't say which sending it answers).
    void measured(Time turnaround, Time now) {
        backoff_ = 0;
        least_ = std::min(least_, turnaround);
        worst_ = std::max(worst_, turnaround);
        longest_ = std::max(longest_, turnaround);
        if (smoothed_ == Time(0))
            smoothed_ = turnaround;
        if (turnaround < smoothed_ / 2)
            smoothed_ += (turnaround - smoothed_) / 8;
        if (now - round_began_ < turnaround)
            return;
        smoothed_ += std::min(turnaround - smoothed_, smoothed_) / 8;
        longest_ -= (longest_ - worst_) / 4;
        worst_ = Time(0);
        round_began_ = now;
    }
    /// A result came that a loss may have held up, this member's or another one's: only if the time
    /// is shorter than the usual one does it count.
    void at_most(Time turnaround) {
        if (turnaround < smoothed_)
            smoothed_ += (turnaround - smoothed_) / 2;
    }
    /// A result came for a chunk that was sent again since nothing had come. Until a time is measured
    /// again, each such result doubles the wait, up to eight times.
    void ambiguous() { backoff_ = std::min(backoff_ + 1, kMostKept); }

    /// What was sent needn't be sent again: what comes next is a new question.
    void over() { backoff_ = 0; }

    /// How long to wait for any answer after so many waits for the same chunk that were in vain.
    [[nodiscard]] Time after(unsigned timeouts) const {
        const Time once =
            smoothed_ == Time(0)
                ? kFirst
                : std::max(kLeast, std::clamp(longest_, 3 * smoothed_ / 2, 4 * smoothed_));
        const unsigned shift = std::min(kMostDoublings, backoff_ + doublings(timeouts));
        return std::min(kMost, once * (1 << shift));
    }

    /// The shortest time from sending to the result.
    [[nodiscard]] Time least() const { return least_; }

    /// How long to wait for the result of what was overtaken: a round trip, or part of it where
    /// such results haven't come by themselves lately (RFC 8985, 6.2).
    [[nodiscard]] Time reordering() const {
        return std::max(kLeastReordering, smoothed_ * reordering_ / kRoundTrip);
    }
    /// A result came for what was overtaken, and sent again.
    void was_lost() { reordering_ = std::max(1U, reordering_ - 1); }
    /// It came sooner after that than any result can: it was on its way.
    void was_not_lost() { reordering_ = kRoundTrip; }

  private:
    static constexpr unsigned kMostDoublings = 10;
    static constexpr unsigned kMostKept = 3;
    static constexpr unsigned kRoundTrip = 4; // of reordering_
    static unsigned doublings(unsigned timeouts) { return std::min(timeouts, kMostDoublings); }

    Time least_ = std::chrono::hours(1);
    Time smoothed_{0};
    Time longest_{0}; // lately
    Time worst_{0};   // in this round trip
    Time round_began_{0};
    unsigned reordering_ = kRoundTrip; // quarters of a round trip
    unsigned backoff_ = 0;
};

/// How much a worker has under way, so that neither a node nor a link on the way is overrun.
///
/// Additive increase, multiplicative decrease (RFC 5681), in chunks. Until the first loss it grows
/// by an eighth a round trip: doubling would lose a whole window once. Above its first size it
/// grows only while most of a round trip is spent on the way, not in queues (as TCP Vegas compares
/// them): more would only wait, until a ring overflows. If half of it is lost together, that halves
/// it once. A ring that overflows loses that much soon, as a sum lacks whatever any member lost; a
/// bad link doesn't. What turns out not to have been lost takes that back (RFC 3708). Not
/// thread-safe.
class CongestionWindow {
  public:
    using Position = std::uint64_t;
    using Time = std::chrono::nanoseconds;

    /// Fits the ring of a veth, and of most NICs, for four workers.
    static constexpr std::size_t kFirst = 64;
    /// A ring of 256 has room for 64 workers with as little.
    static constexpr std::size_t kLeast = 4;

    [[nodiscard]] std::size_t size() const { return size_; }

    /// From sending to the result, of a chunk that was sent once.
    void measured(Time turnaround) {
        least_ = std::min(least_, turnaround);
        queues_ = turnaround >= 2 * least_;
    }
    /// A result came. `full`: of what was sent until there was no room for more.
    void taken(bool full) {
        if (!full || (queues_ && size_ >= kFirst))
            return;
        if (++results_ >= (has_lost_ ? size_ : kEager)) {
            results_ = 0;
            size_++;
        }
    }
    /// That chunk was lost. `next`: behind all that was sent.
    void lost(Position position, Position next) {
        if (position >= recovered_) { // else with what was lost before
            recovered_ = next;
            before_ = size_;
            lost_ = 0;
        }
        lost_++;
        if (size_ < before_ || kMuch * lost_ < before_)
            return;
        has_lost_ = true;
        results_ = 0;
        size_ = std::max(kLeast, size_ / 2);
    }
    /// One that counted as lost wasn't.
    void not_lost() {
        if (lost_ > 0 && kMuch * --lost_ < before_)
            size_ = std::max(size_, before_);
    }
    /// Positions mean something else from now on.
    void begin_anew() { recovered_ = 0; }

  private:
    static constexpr std::size_t kEager = 8; // results for one more
    static constexpr std::size_t kMuch = 2;  // of so many, one lost is too much

    bool has_lost_ = false;
    bool queues_ = false;                // the last result waited as long as it travelled
    Time least_ = std::chrono::hours(1); // turnaround: what nobody else held up
    std::size_t size_ = kFirst;
    std::size_t results_ = 0; // since it grew
    std::size_t before_ = 0;  // its size before it was halved
    std::size_t lost_ = 0;    // what was lost then, as far as is known
    Position recovered_ = 0;  // what is before it was under way then
};

/// A sending of a chunk.
struct ChunkSending {
    std::chrono::nanoseconds at; ///< when it counts as lost
    std::uint64_t number;        ///< among the sendings of all chunks
    std::uint64_t position;      ///< KeptChunks::Position
    unsigned sendings;           ///< of the chunk; it was sent again since: this is void
};

} // namespace olaf
