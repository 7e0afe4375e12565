// SPDX-License-Identifier: BSD-2-Clause
// docs/rounds.md, "Members".
#include <algorithm>

#include "round_node.hpp"

namespace olaf::model {

const std::set<std::uint32_t> &RoundNode::members_of(std::uint32_t round) const {
    return is_before(round, first_round_) ? before_ : now_;
}

const RoundNode::Buffer *RoundNode::find(BufferState state, std::uint32_t round,
                                         std::uint32_t chunk) const {
    for (const Buffer &buffer : slots_[chunk % slots_.size()])
        if (buffer.state == state && buffer.sum.round == round && buffer.sum.chunk == chunk)
            return &buffer;
    return nullptr;
}

const RoundNode::Buffer *RoundNode::done(std::uint32_t round, std::uint32_t chunk) const {
    return find(BufferState::done, round, chunk);
}

const RoundNode::Buffer *RoundNode::open(std::uint32_t round, std::uint32_t chunk) const {
    return find(BufferState::open, round, chunk);
}

bool RoundNode::lacks(const Buffer &buffer) const {
    return !std::ranges::includes(buffer.in, members_of(buffer.sum.round));
}

bool RoundNode::is_enough(const Buffer &buffer) const {
    if (!buffer.given.empty())
        return std::ranges::all_of(buffer.given, [&](std::uint32_t rank) {
            return buffer.in.contains(rank) || !members_of(buffer.sum.round).contains(rank);
        });
    return buffer.added >= needed() || (!setup_.any && !lacks(buffer));
}

bool RoundNode::is_partial(const Buffer &buffer) const {
    if (setup_.any)
        return buffer.added < needed();
    return buffer.added < setup_.children && (lacks(buffer) || doubtful_ || forgot_);
}

// It holds no results yet, and others do.
bool RoundNode::is_joining(std::uint32_t rank) const {
    const bool has_elders = std::ranges::any_of(
        now_, [&](std::uint32_t member) { return before_.contains(member); });
    return !broken_.joiners_open_chunks && unsettled_ > 0 && !before_.contains(rank) && has_elders;
}

void RoundNode::change(bool left, bool doubtful) {
    unsettled_ = (broken_.changes_are_over_soon ? 1U : 2U) << setup_.pool;
    left_ |= left;
    doubtful_ |= doubtful && !broken_.nobodys_part_is_missed;
}

void RoundNode::opened(std::uint32_t round) {
    if (!newest_round_ || is_before(*newest_round_, round))
        newest_round_ = round;
    if (unsettled_ == 0 || (!young_ && is_before(round, since_)))
        return;
    if (--unsettled_ > 0)
        return;
    counters_.settled++;
    before_ = now_;
    young_ = left_ = doubtful_ = forgot_ = false;
}

void RoundNode::goes(std::uint32_t rank, std::uint32_t since, bool loses_its_part) {
    if (unsettled_ == 0 || is_before(since_, since))
        since_ = since;
    now_.erase(rank);
    before_.erase(rank);
    change(true, loses_its_part);
}

RoundMessage::Status RoundNode::become_member(std::uint32_t rank, std::int64_t stamp) {
    std::uint32_t first = newest_round_.value_or(0) + 1;
    if (now_ != before_) { // another joining is under way
        if (newest_round_ && !is_before(*newest_round_, first_round_))
            return RoundMessage::Status::wait;
        first = first_round_;
    }
    if (broken_.joins_begin_at_once)
        first--;
    now_.insert(rank);
    first_round_ = since_ = first;
    change(false, false);
    children_[rank].first_round = first;
    children_[rank].joined = stamp;
    return RoundMessage::Status::done;
}

RoundMessage::Status RoundNode::join(const RoundMessage &message) {
    const Child &child = children_[message.rank];
    if (message.time < child.joined)
        return RoundMessage::Status::old;
    if (now_.contains(message.rank)) {
        if (message.time == child.joined)
            return running_ ? RoundMessage::Status::done : RoundMessage::Status::old;
        goes(message.rank, newest_round_.value_or(0) + 1, true);
    }
    if (now_.empty()) // nobody needs what was before
        young_ = left_ = doubtful_ = forgot_ = false;
    if (now_.empty() && is_root()) // elsewhere members of other nodes go on in their session
        session_ = 0;
    if (now_.empty() && !running_ && is_root()) {
        runs_from({newest_round_.value_or(0) + 1, 0});
    }
    if (!running_ || young_)
        return RoundMessage::Status::wait;
    const auto status = become_member(message.rank, message.time);
    if (status == RoundMessage::Status::done && session_ == 0)
        session_ = std::max<std::uint64_t>(message.incarnation, 1);
    return status;
}

RoundMessage::Status RoundNode::leave(const RoundMessage &message) {
    if (now_.contains(message.rank))
        goes(message.rank, message.round, !running_ && !broken_.who_leaves_a_stopped_job_is_not_missed);
    return unsettled_ > 0 && !now_.empty() ? RoundMessage::Status::wait
                                           : RoundMessage::Status::done;
}

RoundMessage::Status RoundNode::judge(const RoundMessage &message) {
    using Action = RoundMessage::Action;
    if (message.action == Action::join)
        return join(message);
    if (message.action == Action::leave)
        return leave(message);
    if (!now_.contains(message.rank))
        return RoundMessage::Status::gone;
    const std::uint32_t most = setup_.any ? setup_.max_count : setup_.children;
    if (message.action == Action::seth && (message.missing == 0 || message.missing > most))
        return RoundMessage::Status::refused;
    if (message.action == Action::seth)
        setup_.threshold = message.missing;
    if (message.action == Action::fbcast)
        for (Slot &slot : slots_)
            for (Buffer &buffer : slot)
                buffer.is_sealed |= buffer.state == BufferState::open;
    if (message.action == Action::halt || message.action == Action::resume)
        halted_ = message.action == Action::halt;
    if (message.action == Action::reset)
        stop();
    return RoundMessage::Status::done;
}

// An order of another generation, or of a rank that hasn't asked here, changes nothing. Who is a member asks again.
void RoundNode::is_old(const RoundMessage &message, Out &out) {
    RoundMessage answer = answer_to(message, RoundMessage::Kind::order_answer);
    const bool joins = message.action == RoundMessage::Action::join; // in the run that has the job, or may have it
    answer.status = RoundMessage::Status::old;
    answer.generation = joins ? generation_ : told_generation(message.rank);
    answer.run = message.run;
    answer.missing = 0;
    out.push_back({.to = message.rank, .message = answer});
}

void RoundNode::order(const RoundMessage &message, Out &out) {
    counters_.controls++;
    children_[message.rank].known |= message.action == RoundMessage::Action::join;
    const bool is_known = children_[message.rank].known && message.generation == generation_;
    if (!is_known)
        return is_old(message, out);
    const RoundMessage::Status status = judge(message);
    RoundMessage answer = answer_to(message, RoundMessage::Kind::order_answer);
    answer.status = status;
    answer.missing = 0;
    if (message.action == RoundMessage::Action::join) {
        answer.round = children_[message.rank].first_round;
        answer.chunk = 0;
        if (status == RoundMessage::Status::done && !broken_.joiners_are_told_no_session)
            answer.session = session_;
        if (status == RoundMessage::Status::old)
            tell_newest(children_[message.rank].joined, answer);
    }
    out.push_back({.to = message.rank, .message = answer});
}

// Who contributes and is no member is told so as if it had asked to leave.
void RoundNode::gone(const RoundMessage &message, Out &out) {
    RoundMessage answer = {.kind = RoundMessage::Kind::order_answer,
                           .rank = message.rank,
                           .round = message.round,
                           .chunk = message.chunk,
                           .generation = message.generation,
                           .time = message.time,
                           .pool = pool_,
                           .status = RoundMessage::Status::gone,
                           .action = RoundMessage::Action::leave};
    out.push_back({.to = message.rank, .message = answer});
}

} // namespace olaf::model
