// SPDX-License-Identifier: BSD-2-Clause
// How much a worker has under way, so that neither a node nor a link on the way is overrun.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace olaf {

/// Additive increase, multiplicative decrease (RFC 5681), in chunks. Until the first loss it grows
/// by an eighth a round trip: doubling would lose a whole window once. Above its first size it grows
/// only while most of a round trip is spent on the way, not in queues (as TCP Vegas compares them):
/// more would only wait, until a ring overflows. What is lost together halves it once; what turns
/// out not to have been lost takes that back (RFC 3708). Not thread-safe.
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

} // namespace olaf
