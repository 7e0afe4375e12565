// SPDX-License-Identifier: BSD-2-Clause
// When a worker of a job sends a contribution, and when it sends it again: RFC 6298's estimate of
// the time from sending to the result, a congestion window, and the contributions in the order in
// which they are due.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <queue>
#include <vector>

namespace olaf {

/// When to send a contribution again. Not thread-safe.
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

  private:
    static constexpr unsigned kMostDoublings = 10;
    static unsigned doublings(unsigned sendings) { return std::min(sendings - 1, kMostDoublings); }

    Time smoothed_{0};
    Time deviation_{0};
    unsigned backoff_ = 0;
};

/// How much a worker has under way, so that neither a node nor a link on the way is overrun.
///
/// Additive increase, multiplicative decrease (RFC 5681), in chunks. Until the first loss it grows
/// by an eighth a round trip: doubling would lose a whole window once. Above its first size it
/// grows only while most of a round trip is spent on the way, not in queues (as TCP Vegas compares
/// them): more would only wait, until a ring overflows. What is lost together halves it once; what
/// turns out not to have been lost takes that back (RFC 3708). Not thread-safe.
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
        lost_++;
        if (position < recovered_)
            return; // with what was lost before
        has_lost_ = true;
        recovered_ = next;
        before_ = size_;
        lost_ = 1;
        results_ = 0;
        size_ = std::max(kLeast, size_ / 2);
    }
    /// One that counted as lost wasn't.
    void not_lost() {
        if (lost_ > 0 && --lost_ == 0)
            size_ = std::max(size_, before_);
    }
    /// Positions mean something else from now on.
    void begin_anew() { recovered_ = 0; }

  private:
    static constexpr std::size_t kEager = 8; // results for one more

    bool has_lost_ = false;
    bool queues_ = false;                // the last result waited as long as it travelled
    Time least_ = std::chrono::hours(1); // turnaround: what nobody else held up
    std::size_t size_ = kFirst;
    std::size_t results_ = 0; // since it grew
    std::size_t before_ = 0;  // its size before it was halved
    std::size_t lost_ = 0;    // what was lost then, as far as is known
    Position recovered_ = 0;  // what is before it was under way then
};

struct DueChunk {
    std::chrono::nanoseconds at; ///< when it is due
    std::uint64_t position;      ///< KeptChunks::Position
    unsigned sendings;           ///< when this was noted; the chunk was sent again since: it's void
    std::chrono::nanoseconds put_off = {}; ///< when it was last; 0: it wasn't
    bool operator>(const DueChunk &other) const { return at > other.at; }
};

/// The one that is due first is at the top. Not thread-safe.
///
/// A slow member puts off all that is under way, again and again. So what was put off waits in a
/// line, where that costs the same however much there is. It is nearly in order: who was put off
/// behind one with a longer timeout waits for that.
class DueChunks {
  public:
    [[nodiscard]] bool empty() const { return sent_.empty() && put_off_.empty(); }
    /// Precondition: !empty().
    [[nodiscard]] const DueChunk &top() const {
        return top_is_sent() ? sent_.top() : put_off_.front();
    }
    void pop() { top_is_sent() ? sent_.pop() : put_off_.pop_front(); }
    /// What was sent.
    void push(const DueChunk &due) { sent_.push(due); }
    /// The top, until then. `now`: no earlier than in any call before. Precondition: !empty().
    void put_off(std::chrono::nanoseconds now, std::chrono::nanoseconds until) {
        DueChunk due = top();
        pop();
        due.at = until;
        due.put_off = now;
        put_off_.push_back(due);
    }

  private:
    [[nodiscard]] bool top_is_sent() const {
        return put_off_.empty() || (!sent_.empty() && put_off_.front() > sent_.top());
    }

    std::priority_queue<DueChunk, std::vector<DueChunk>, std::greater<>> sent_;
    std::deque<DueChunk> put_off_;
};

} // namespace olaf
