// SPDX-License-Identifier: BSD-2-Clause
// What comes from the parent: results of what went up, and STALE.
#include <algorithm>
#include <utility>

#include "round_node.hpp"

namespace olaf::model {
namespace {

constexpr std::uint64_t kMostOverdue = 200'000'000;

} // namespace

std::uint64_t RoundNode::overdue_after() const {
    return std::clamp<std::uint64_t>(2 * turnaround_, 200'000, kMostOverdue);
}

// What gathers here, is on its way up, or may take the place of what is done.
RoundNode::Buffer *RoundNode::buffer_for_parents(const RoundMessage &message) {
    Slot &slot = slots_[message.chunk % slots_.size()];
    for (Buffer &each : slot)
        if (has_place(each, message))
            return each.state == BufferState::done ? nullptr : &each;
    Buffer *const buffer = message.misfit ? nullptr : choose(message, slot);
    if (buffer == nullptr)
        return nullptr;
    counters_.undelivered += buffer->owed.size();
    std::erase(line_, buffer);
    if (!is_of(*buffer, message))
        buffer->given.clear();
    *buffer = {.sum = message, .given = std::move(buffer->given)};
    return buffer;
}

// What went up again is answered by the last time, unless the result came too soon for that.
void RoundNode::note_turnaround(std::uint64_t now, const Buffer &buffer) {
    const std::uint64_t took = now - buffer.went_up;
    std::uint64_t up = buffer.first_up;
    if (buffer.went_up != buffer.first_up && 2 * took >= turnaround_)
        up = buffer.went_up;
    else if (buffer.went_up == buffer.first_up)
        turnaround_ = turnaround_ == 0 ? took : (7 * turnaround_ + took) / 8;
    newest_answered_ = std::max(newest_answered_, up);
}

void RoundNode::parents_result(std::uint64_t now, const RoundMessage &message, Out &out) {
    if (message.stale) {
        if (!running_ || broken_.parents_stale_is_ignored ||
            (message.count != parent_generation_ && !broken_.stale_echoes_nothing))
            return;
        if (message.generation != parent_generation_)
            return stop();
        if (Buffer *const buffer = buffer_for_parents(message)) { // over: whoever asks is told so
            buffer->state = BufferState::done;
            buffer->sum.stale = true;
        }
        return;
    }
    if (!running_ || message.generation != parent_generation_)
        return;
    if (message.misfit)
        note_misfit(message);
    Buffer *const buffer = buffer_for_parents(message);
    if (buffer == nullptr)
        return;
    const bool was_up = buffer->state == BufferState::up;
    if (was_up)
        note_turnaround(now, *buffer);
    auto lanes = message.misfit ? std::move(buffer->sum.lanes) : message.lanes;
    buffer->sum = message;
    buffer->sum.lanes = std::move(lanes); // those of a misfit mean nothing
    if (!was_up && !buffer->given.empty())
        buffer->in = buffer->given; // of what went up before
    else
        buffer->sum.late |= !was_up; // the parent went on without what is gathered here
    flushing_ = flushing_ || message.misfit;
    finish(*buffer);
    ride(out, counters_.riding);                     // in the frame that brought it
    while (flushing_ && ride(out, counters_.copied)) // nobody's frame may come
        continue;
}

// A member waits for the chunk, and the parent may have gone on without this node.
bool RoundNode::ask_parent(const RoundMessage &message, Out &out) {
    if (is_root() || broken_.parents_are_not_asked)
        return false;
    counters_.up_asked++;
    out.push_back({.up = true,
                   .message = {.kind = RoundMessage::Kind::contribution,
                               .rank = *setup_.rank_at_parent,
                               .round = message.round,
                               .count = 1,
                               .chunk = message.chunk,
                               .chunks = message.chunks,
                               .generation = parent_generation_,
                               .flush = true}});
    return true;
}

// The same of one that gathers here, if nothing was heard of it for long.
bool RoundNode::ask_parent_again(std::uint64_t now, const RoundMessage &message, Buffer &buffer,
                                 Out &out) {
    if (is_root() || now - buffer.went_up < kMostOverdue)
        return false;
    buffer.went_up = now;
    return ask_parent(message, out);
}

} // namespace olaf::model
