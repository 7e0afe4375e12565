// SPDX-License-Identifier: BSD-2-Clause
// Which contributions are to be sent again, and when.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <queue>
#include <vector>

namespace olaf {

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
