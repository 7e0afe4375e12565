// SPDX-License-Identifier: BSD-2-Clause
#include "round_node.hpp"

#include <algorithm>

namespace olaf::model {

RoundNode::RoundNode(const RoundSetup &setup, std::uint32_t generation, const BrokenRules &broken)
    : setup_(setup), broken_(broken), generation_(generation), pool_(setup.pool),
      children_(setup.children), slots_(std::size_t{1} << setup.pool) {
    begin_membership();
}

void RoundNode::arrive(std::uint64_t now, std::int64_t tai, const RoundMessage &message, Out &out) {
    using Kind = RoundMessage::Kind;
    const bool of_parent = message.kind == Kind::result || message.kind == Kind::sync_answer ||
                           message.kind == Kind::order_answer;
    const bool asks_for_job =
        message.kind == Kind::sync ||
        (message.kind == Kind::order && message.action == RoundMessage::Action::join);
    if (asks_for_job && !admit(now, message, out))
        return;
    if (!of_parent && (asks_for_job || is_known_here(message)))
        children_[message.rank].heard = now;
    switch (message.kind) {
    case RoundMessage::Kind::contribution:
        return contribution(now, message, out);
    case RoundMessage::Kind::result:
        return parents_result(now, message, out);
    case RoundMessage::Kind::sync:
        return sync(tai, message, out);
    case RoundMessage::Kind::sync_answer:
        return parents_answer(tai, message, out);
    case RoundMessage::Kind::order:
        return order(message, out);
    case RoundMessage::Kind::order_answer: // a node asks its parent for nothing but where to begin
        return;
    }
}

// Whether the message names the generation that its sender must know to count as the rank's.
bool RoundNode::is_known_here(const RoundMessage &message) const {
    const bool is_bound = message.kind == RoundMessage::Kind::contribution || children_[message.rank].known;
    return is_bound && message.generation == generation_;
}

// Nobody is told who hasn't asked in this node's life.
std::uint32_t RoundNode::told_generation(std::uint32_t rank) const {
    return children_[rank].known ? generation_ : 0;
}

bool RoundNode::is_of(const Buffer &buffer, const RoundMessage &message) const {
    return buffer.sum.round == message.round && buffer.sum.chunk == message.chunk;
}

bool RoundNode::has_place(const Buffer &buffer, const RoundMessage &message) const {
    return buffer.state != BufferState::free && is_of(buffer, message);
}

bool RoundNode::is_newer(const RoundMessage &message, const Buffer &buffer) const {
    if (buffer.state == BufferState::free)
        return true;
    if (message.round != buffer.sum.round)
        return is_before(buffer.sum.round, message.round);
    return buffer.sum.chunk < message.chunk;
}

void RoundNode::contribution(std::uint64_t now, const RoundMessage &message, Out &out) {
    Slot &slot = slots_[message.chunk % slots_.size()];
    const bool probe = message.lanes.empty();
    (probe ? counters_.probes : counters_.received)++;
    children_[message.rank].known |= message.generation == generation_;
    flushing_ = flush_ = message.flush;
    bool frame_used = true;
    if (halted_ && running_) {
        counters_.halted += probe ? 0 : 1;
        frame_used = false;
    } else if (!broken_.generations_do_not_matter &&
               (!running_ || message.generation != generation_)) {
        counters_.stale += probe ? 0 : 1;
        stale(message, out);
    } else if (!members_of(message.round).contains(message.rank)) {
        counters_.stale += probe ? 0 : 1;
        gone(message, out);
    } else if (misfit_) {
        counters_.stale += probe ? 0 : 1;
        RoundMessage told = *misfit_;
        told.rank = message.rank;
        told.pool = pool_;
        out.push_back({.to = message.rank, .message = told});
    } else if (has_place(slot[0], message)) {
        frame_used = in_buffer(now, message, slot[0], out);
    } else if (has_place(slot[1], message)) {
        frame_used = in_buffer(now, message, slot[1], out);
    } else {
        frame_used = in_no_buffer(now, message, slot, out);
    }
    if (!frame_used)
        ride(out, counters_.riding);
    while (!frame_used && flush_ && ride(out, counters_.copied))
        continue;
}

// The buffer that a chunk without one may take; none: the slot has a newer chunk, or no room.
RoundNode::Buffer *RoundNode::choose(const RoundMessage &message, Slot &slot) {
    const bool first_is_older =
        slot[0].state == BufferState::free ||
        (slot[1].state != BufferState::free && is_newer(slot[1].sum, slot[0]));
    Buffer &older = first_is_older ? slot[0] : slot[1];
    Buffer &newer = &older == &slot[0] ? slot[1] : slot[0];
    if (!is_newer(message, slot[0]) || !is_newer(message, slot[1]))
        return nullptr;
    const auto can_go = [&](const Buffer &buffer) {
        return buffer.state == BufferState::free || buffer.state == BufferState::done;
    };
    return can_go(older) ? &older : can_go(newer) ? &newer : nullptr;
}

// Each of these says whether the frame is used up.
bool RoundNode::in_no_buffer(std::uint64_t now, const RoundMessage &message, Slot &slot, Out &out) {
    if (!is_newer(message, slot[0]) || !is_newer(message, slot[1])) {
        counters_.stale += message.lanes.empty() ? 0 : 1;
        stale(message, out);
        return true;
    }
    if (message.lanes.empty())
        return ask_parent(message, out);
    Buffer *const chosen = choose(message, slot);
    if (chosen == nullptr || is_joining(message.rank)) {
        counters_.ahead++;
        return false;
    }
    if (message.count > setup_.max_count)
        return no_room();
    counters_.undelivered += chosen->owed.size();
    std::erase(line_, chosen);
    if (!is_of(*chosen, message))
        chosen->given.clear();
    return open(now, message, *chosen, out);
}

bool RoundNode::open(std::uint64_t now, const RoundMessage &message, Buffer &buffer, Out &out) {
    buffer = {.state = BufferState::open,
              .sum = message,
              .given = std::move(buffer.given),
              .opened = now,
              .went_up = now};
    buffer.sum.count = 0;
    buffer.sum.lanes.assign(message.lanes.size(), 0);
    opened(message.round);
    if (message.misfit) {
        buffer.sum.lanes = message.lanes; // they mean nothing
        return misfit(now, message, buffer, out);
    }
    return add(now, message, buffer, out);
}

// The sender's copy of the result is damaged. Is the sum damaged at this node, too? Once an aggregate has gone up, only
// a child that was in it can have the chunk gathered anew.
bool RoundNode::is_damaged(const RoundMessage &message, const Buffer &buffer) const {
    const auto &lanes = buffer.sum.lanes;
    if (!setup_.has_checksum || broken_.damaged_sums_stay || !message.spoilt || message.lanes.empty() ||
        buffer.state != BufferState::done || buffer.sum.stale || buffer.sum.misfit ||
        message.count > setup_.max_count || is_joining(message.rank) || excludes(buffer, message.rank))
        return false;
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i + 1 < lanes.size(); i++)
        sum += (2 * i + 1) * lanes[i];
    return sum != lanes.back();
}

// If an aggregate has gone up, the same children contribute again: whichever aggregate the parent's sum has, it has
// these children's parts.
bool RoundNode::gather_anew(std::uint64_t now, const RoundMessage &message, Buffer &buffer, Out &out) {
    counters_.spoilt++;
    counters_.undelivered += buffer.owed.size();
    std::erase(line_, &buffer);
    if (broken_.who_gave_before_is_late)
        buffer.given.clear();
    return open(now, message, buffer, out);
}

bool RoundNode::excludes(const Buffer &buffer, std::uint32_t rank) const {
    return !buffer.given.empty() && !buffer.given.contains(rank) && !broken_.anybody_may_give_again;
}

bool RoundNode::in_buffer(std::uint64_t now, const RoundMessage &message, Buffer &buffer,
                          Out &out) {
    if (is_damaged(message, buffer))
        return gather_anew(now, message, buffer, out);
    bool is_in = buffer.in.contains(message.rank);
    if (setup_.any && is_in && buffer.state == BufferState::open)
        is_in = !message.misfit && message.time <= children_[message.rank].newest;
    if (message.lanes.empty())
        return asked_for(now, message, buffer, out);
    if (buffer.state == BufferState::open && excludes(buffer, message.rank)) {
        counters_.late++;
        return ask_parent_again(now, message, buffer, out);
    }
    if (is_in && !broken_.duplicates_are_added)
        return duplicate(now, message, buffer, out);
    if (buffer.state == BufferState::open && !broken_.vectors_do_not_matter &&
        (message.misfit || message.identity() != buffer.sum.identity()))
        return misfit(now, message, buffer, out);
    if (buffer.state == BufferState::open)
        return message.count > setup_.max_count - buffer.sum.count ? no_room()
                                                                   : add(now, message, buffer, out);
    counters_.late++;
    return buffer.state == BufferState::done && answer(message, buffer, out);
}

// As malformed as what no node looks at: nothing comes of it, not even a ride for a result.
bool RoundNode::no_room() {
    counters_.received--;
    counters_.no_room++;
    return true;
}

bool RoundNode::add(std::uint64_t now, const RoundMessage &message, Buffer &buffer, Out &out) {
    counters_.added++;
    children_[message.rank].newest = std::max(children_[message.rank].newest, message.time);
    buffer.in.insert(message.rank);
    buffer.added++;
    RoundMessage &sum = buffer.sum;
    sum.count += message.count;
    sum.time = std::max(sum.time, message.time);
    sum.exponent = std::max(sum.exponent, message.exponent);
    sum.partial |= message.partial;
    sum.spoilt |= message.spoilt;
    for (std::size_t i = 0; i < sum.lanes.size(); i++)
        sum.lanes[i] += message.lanes[i];
    if (!is_enough(buffer))
        return false;
    sum.partial |= is_partial(buffer);
    return complete(now, buffer, out);
}

// Two members' vectors differ: all are told at once.
bool RoundNode::misfit(std::uint64_t now, const RoundMessage &message, Buffer &buffer, Out &out) {
    counters_.added++;
    counters_.misfit++;
    buffer.in.insert(message.rank);
    buffer.added++;
    RoundMessage &sum = buffer.sum;
    sum.count = std::max(sum.count, 1U);
    sum.partial |= message.partial;
    sum.spoilt |= message.spoilt;
    sum.misfit = message.misfit.value_or(message.identity());
    if (message.misfit) {
        sum.chunks = message.chunks;
        sum.vector = message.vector;
    }
    flush_ = true;
    if (is_root()) // else the parent has to know first: who has failed sends nothing up again
        note_misfit(sum);
    return complete(now, buffer, out);
}

void RoundNode::note_misfit(const RoundMessage &told) {
    if (misfit_)
        return;
    misfit_ = {.kind = RoundMessage::Kind::result,
               .round = told.round,
               .chunk = told.chunk,
               .chunks = told.chunks,
               .vector = told.vector,
               .generation = generation_,
               .misfit = told.misfit};
}

// By a probe.
bool RoundNode::asked_for(std::uint64_t now, const RoundMessage &message, Buffer &buffer,
                          Out &out) {
    switch (buffer.state) {
    case BufferState::open:
        if (!message.partial || setup_.any || buffer.in.contains(message.rank) ||
            excludes(buffer, message.rank) || broken_.nobody_may_abstain)
            return ask_parent_again(now, message, buffer, out);
        buffer.in.insert(message.rank);
        buffer.sum.partial = true;
        return complete_if_due(now, message, buffer, out);
    case BufferState::up:
        return goes_up_again(now, buffer, out);
    default:
        return answer(message, buffer, out);
    }
}

bool RoundNode::goes_up_again(std::uint64_t now, Buffer &buffer, Out &out) {
    const bool is_overtaken = buffer.went_up < newest_answered_;
    if ((!is_overtaken && now - buffer.went_up < overdue_after()) || broken_.never_sends_up_again)
        return false;
    counters_.up_again++;
    go_up(now, buffer, out);
    return true;
}

bool RoundNode::duplicate(std::uint64_t now, const RoundMessage &message, Buffer &buffer,
                          Out &out) {
    counters_.duplicate++;
    if (buffer.state == BufferState::done)
        return !broken_.duplicates_are_not_answered && answer(message, buffer, out);
    if (buffer.state == BufferState::up)
        return goes_up_again(now, buffer, out);
    return complete_if_due(now, message, buffer, out);
}

bool RoundNode::complete_if_due(std::uint64_t now, const RoundMessage &message, Buffer &buffer,
                                Out &out) {
    const bool is_late = setup_.deadline_ns != 0 && now - buffer.opened >= setup_.deadline_ns;
    const bool may_lack = (is_late || buffer.is_sealed) && buffer.given.empty();
    if (!may_lack && !is_enough(buffer))
        return ask_parent_again(now, message, buffer, out);
    buffer.sum.partial |= is_partial(buffer);
    if (complete(now, buffer, out))
        return true;
    return answer(message, buffer, out);
}

// The root's result rides like any other.
bool RoundNode::complete(std::uint64_t now, Buffer &buffer, Out &out) {
    if (!buffer.sum.misfit && (setup_.any || lacks(buffer)) && last_run_)
        last_run_->partial = true;
    if (is_root()) {
        finish(buffer);
        return false;
    }
    buffer.state = BufferState::up;
    buffer.first_up = now;
    if (buffer.given.empty())
        buffer.given = buffer.in;
    counters_.up_sent++;
    go_up(now, buffer, out);
    return true;
}

void RoundNode::go_up(std::uint64_t now, Buffer &buffer, Out &out) {
    buffer.went_up = now;
    RoundMessage up = buffer.sum;
    up.kind = RoundMessage::Kind::contribution;
    up.rank = *setup_.rank_at_parent;
    up.generation = parent_generation_;
    up.flush = flush_; // of the frame that it leaves in
    out.push_back({.up = true, .message = up});
}

void RoundNode::finish(Buffer &buffer) {
    buffer.state = BufferState::done;
    counters_.completed++;
    counters_.partial += buffer.sum.partial ? 1 : 0;
    if (buffer.sum.chunks == kFarewell && !buffer.sum.partial && !buffer.sum.misfit)
        end_run();
    for (const std::uint32_t rank : members_of(buffer.sum.round))
        if (children_[rank].known)
            buffer.owed.insert(rank);
    buffer.deliveries = buffer.owed.size();
    counters_.deliveries += buffer.deliveries;
    line_.push_back(&buffer);
}

RoundMessage RoundNode::result_for(std::uint32_t rank, const Buffer &buffer) const {
    RoundMessage result = buffer.sum;
    result.kind = RoundMessage::Kind::result;
    result.rank = rank;
    result.generation = generation_;
    result.pool = pool_;
    result.spoilt = false;
    result.late = buffer.sum.late || !buffer.in.contains(rank);
    return result;
}

bool RoundNode::answer(const RoundMessage &message, Buffer &buffer, Out &out) {
    if (buffer.sum.stale) {
        stale(message, out);
        return true;
    }
    // Of a frame for all nobody is taken: who asks before it has left gets the result twice.
    const bool first = !is_for_all(buffer) && buffer.owed.erase(message.rank) > 0;
    (first ? counters_.riding : counters_.repeated)++;
    out.push_back({.to = message.rank, .message = result_for(message.rank, buffer)});
    return true;
}

void RoundNode::stale(const RoundMessage &message, Out &out) {
    RoundMessage stale = {.kind = RoundMessage::Kind::result,
                          .rank = message.rank,
                          .round = message.round,
                          .count = broken_.stale_echoes_nothing ? 0 : message.generation,
                          .chunk = message.chunk,
                          .chunks = message.chunks,
                          .generation = told_generation(message.rank),
                          .pool = pool_,
                          .stale = true};
    out.push_back({.to = message.rank, .message = stale});
}

bool RoundNode::is_for_all(const Buffer &buffer) const {
    return setup_.multicast && (buffer.sum.late || !lacks(buffer));
}

// The next result in line, to the next member or to all. Returns whether there was one.
bool RoundNode::ride(Out &out, std::uint64_t &of_one) {
    while (!line_.empty() && line_.front()->owed.empty())
        line_.pop_front();
    if (line_.empty())
        return false;
    Buffer &buffer = *line_.front();
    if (is_for_all(buffer)) {
        counters_.multicast++;
        counters_.by_multicast += buffer.owed.size();
        buffer.owed.clear();
        RoundMessage result = result_for(kEverybody, buffer);
        result.late = buffer.sum.late;
        out.push_back({.to_all = true, .message = result});
        return true;
    }
    const std::uint32_t rank = *buffer.owed.begin();
    buffer.owed.erase(rank);
    of_one++;
    out.push_back({.to = rank, .message = result_for(rank, buffer)});
    return true;
}

void RoundNode::flush(std::uint64_t now, Out &out) {
    for (Slot &slot : slots_)
        for (Buffer &buffer : slot) {
            if (buffer.state != BufferState::open)
                continue;
            buffer.sum.partial |= is_partial(buffer);
            complete(now, buffer, out);
        }
    while (ride(out, counters_.copied))
        continue;
}

bool RoundNode::conserves() const {
    const RoundCounters &c = counters_;
    std::uint64_t owed = 0;
    for (const Slot &slot : slots_)
        for (const Buffer &buffer : slot)
            owed += buffer.owed.size();
    return c.received == c.added + c.duplicate + c.late + c.stale + c.ahead + c.halted &&
           c.deliveries == c.riding + c.copied + c.by_multicast + c.undelivered + owed;
}

} // namespace olaf::model
