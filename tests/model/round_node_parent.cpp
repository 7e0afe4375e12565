// SPDX-License-Identifier: BSD-2-Clause
// What comes from the parent: results of what went up, and STALE.
#include <algorithm>
#include <utility>

#include "round_node.hpp"

namespace olaf::model {

std::uint64_t RoundNode::overdue_after() const {
    return std::clamp<std::uint64_t>(4 * turnaround_, 1'000'000, 200'000'000);
}

void RoundNode::parents_result(std::uint64_t now, const RoundMessage &message, Out &out) {
    Buffer *buffer = nullptr;
    for (Buffer &each : slots_[message.chunk % slots_.size()])
        if (has_place(each, message) &&
            (each.state == BufferState::up || (each.state == BufferState::open && message.misfit)))
            buffer = &each;
    if (message.stale) {
        if (!running_ || broken_.parents_stale_is_ignored ||
            (message.count != parent_generation_ && !broken_.stale_echoes_nothing))
            return;
        if (message.generation != parent_generation_)
            return stop();
        if (buffer != nullptr) { // over: whoever asks is told so
            buffer->state = BufferState::done;
            buffer->sum.stale = true;
        }
        return;
    }
    if (!running_ || message.generation != parent_generation_)
        return;
    if (message.misfit)
        note_misfit(message);
    if (buffer == nullptr)
        return;
    const bool is_open = buffer->state == BufferState::open;
    if (!is_open && buffer->went_up == buffer->first_up) {
        const std::uint64_t took = now - buffer->first_up;
        turnaround_ = turnaround_ == 0 ? took : (7 * turnaround_ + took) / 8;
    }
    auto lanes = message.misfit ? std::move(buffer->sum.lanes) : message.lanes;
    buffer->sum = message;
    buffer->sum.lanes = std::move(lanes); // those of a misfit mean nothing
    buffer->sum.late |= is_open;
    flushing_ = flushing_ || message.misfit;
    finish(*buffer);
    ride(out, counters_.riding);                       // in the frame that brought it
    while (flushing_ && ride(out, counters_.copied)) // nobody's frame may come
        continue;
}

} // namespace olaf::model
