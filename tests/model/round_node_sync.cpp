// SPDX-License-Identifier: BSD-2-Clause
// docs/rounds.md, "Agreeing where to begin".
#include <algorithm>
#include <iterator>

#include "round_node.hpp"

namespace olaf::model {

void RoundNode::forget_questions() {
    questions_.clear();
    named_.clear();
    first_anew_.reset();
    next_.reset();
    missed_ = begin_is_forgotten_ = false;
    pool_ = setup_.pool;
}

void RoundNode::stop() {
    counters_.stopped++;
    running_ = false;
    generation_ += generation_ == UINT32_MAX ? 2 : 1;
    forget_questions();
    misfit_.reset();
    line_.clear();
    for (Slot &slot : slots_)
        for (Buffer &buffer : slot) {
            counters_.undelivered += buffer.owed.size();
            buffer = {};
        }
    if (unsettled_ > 0)
        change(false, left_); // what was opened since is opened again
}

// At the very first chunk nobody had joined yet.
void RoundNode::run(std::uint64_t session) {
    if (next_ == std::tuple(0U, 0U))
        forgot_ = false;
    session_ = session;
    replaced_.reset();
    runs_from(next_.value_or(std::tuple(0U, 0U)));
}

void RoundNode::runs_from(std::tuple<std::uint32_t, std::uint32_t> place) {
    next_ = place;
    const bool stands_for_both = missed_ && last_run_ && last_run_->partial;
    last_run_ = {.generation = generation_, .begin = place, .partial = stands_for_both};
    running_ = true;
}

void RoundNode::begin_by(std::tuple<std::uint32_t, std::uint32_t> place) {
    const auto is_before = [](const auto &a, const auto &b) {
        const auto [round_a, chunk_a] = a;
        const auto [round_b, chunk_b] = b;
        return round_a == round_b ? chunk_a < chunk_b
                                  : static_cast<std::int32_t>(round_a - round_b) < 0;
    };
    if (!next_ || is_before(place, *next_) || broken_.begins_where_the_last_one_asks)
        next_ = place;
}

// What the others summed in a generation that a member hasn't heard of may have other exponents than it knows.
void RoundNode::note_last_run(const RoundMessage &message) {
    if (message.session == 0 || broken_.what_a_member_was_not_told_does_not_matter)
        return;
    if (!last_run_)
        last_run_ = {.generation = message.generation, .begin = {}};
    if (message.generation == last_run_->generation)
        return;
    missed_ = true;
    if (!last_run_->begin && (setup_.deadline_ns > 0 || needed() < setup_.children || setup_.any))
        begin_is_forgotten_ = true;
}

// All have asked.
void RoundNode::mend_last_run() {
    if (missed_ && last_run_->begin && last_run_->partial)
        begin_by(*last_run_->begin);
}

std::vector<std::uint32_t> RoundNode::unasked() const {
    std::vector<std::uint32_t> ranks;
    std::ranges::copy_if(now_, std::back_inserter(ranks),
                         [&](std::uint32_t rank) { return !has_asked(rank); });
    return ranks;
}

// A newer stamp than this child's last one.
void RoundNode::new_question(std::int64_t tai, const RoundMessage &message) {
    children_[message.rank].stamp = message.time;
    if (running_ && !broken_.sync_does_not_stop)
        stop();
    note_session(message);
    begin_by({message.round, message.chunk});
    note_last_run(message);
    if (!broken_.pool_is_not_agreed_upwards)
        pool_ = std::min(pool_, message.pool);
    stamp_ = std::max(tai, stamp_ + 1); // what it told the parent may be out of date
}

RoundMessage RoundNode::answer_to(const RoundMessage &question, RoundMessage::Kind kind) const {
    RoundMessage answer = question;
    answer.kind = kind;
    answer.generation = generation_;
    answer.pool = pool_;
    answer.incarnation = answer.session = 0;
    answer.run = run_;
    answer.anew = answer.above = false;
    return answer;
}

// The node's own, in the frame of a child's.
RoundMessage RoundNode::question_up(const RoundMessage &question) const {
    RoundMessage up = question;
    up.rank = *setup_.rank_at_parent;
    std::tie(up.round, up.chunk) = *next_;
    up.time = stamp_;
    up.generation = missed_ ? 0 : parent_generation_;
    up.pool = pool_;
    up.padding = kSessionLanes;
    up.run = run_;
    up.incarnation = incarnations();
    up.session = in_session().empty() ? 0 : named_.front();
    up.anew = !begun_anew().empty() && !broken_.who_is_new_is_not_told_upwards;
    return up;
}

// Where a process' clock was ahead, its rank's next one asks by a stamp behind that.
void RoundNode::tell_newest(std::int64_t stamp, RoundMessage &answer) const {
    answer.session = broken_.newest_stamp_is_not_told ? 0 : static_cast<std::uint64_t>(stamp);
}

void RoundNode::sync(std::int64_t tai, const RoundMessage &message, Out &out) {
    using Status = RoundMessage::Status;
    counters_.syncs++;
    Child &child = children_[message.rank];
    child.known = true;
    const auto say = [&](Status status, const auto &fill) {
        RoundMessage answer = answer_to(message, RoundMessage::Kind::sync_answer);
        answer.status = status;
        fill(answer);
        out.push_back({.to = message.rank, .message = answer});
    };
    const auto nothing_more = [](RoundMessage &) {};
    if (!now_.contains(message.rank))
        return say(Status::gone, nothing_more);
    if (message.time > child.stamp)
        new_question(tai, message);
    if (message.time < child.stamp || (!running_ && !has_asked(message.rank)))
        return say(Status::old, [&](RoundMessage &answer) { tell_newest(child.stamp, answer); });
    asked_last_ = message.rank;
    const auto missing = unasked();
    if (!missing.empty() && !running_ && is_lost(message.rank)) {
        first_anew_ = {*replaced_, false};
        return say(Status::over, [&](RoundMessage &answer) { tell_over(message.rank, answer); });
    }
    if (!missing.empty() && !running_)
        return say(Status::wait, [&](RoundMessage &answer) {
            answer.missing = static_cast<std::uint32_t>(missing.size());
            answer.rank = missing.front();
        });
    if (!running_ && is_over())
        return say(Status::over, [&](RoundMessage &answer) { tell_over(message.rank, answer); });
    if (!running_)
        mend_last_run();
    if (!running_ && !is_root()) // the question goes on to the parent
        return out.push_back({.up = true, .message = question_up(message)});
    counters_.unheard += !running_ && !in_session().empty() && !begun_anew().empty() ? 1 : 0;
    if (!running_)
        run(in_session().empty() ? std::max<std::uint64_t>(incarnations(), 1) : named_.front());
    say(Status::done, [&](RoundMessage &answer) {
        std::tie(answer.round, answer.chunk) = next_.value_or(std::tuple(0U, 0U));
        answer.session = session_;
    });
}

void RoundNode::parents_answer(std::int64_t tai, const RoundMessage &message, Out &out) {
    using Status = RoundMessage::Status;
    if (running_ || !unasked().empty() || message.time != stamp_)
        return;
    if (message.status == Status::old) {
        const auto newest = static_cast<std::int64_t>(message.session);
        stamp_ = std::max(tai, std::max(stamp_, newest) + 1); // asked with the next SYNC of a child
        return;
    }
    if (message.status == Status::done) {
        parent_generation_ = message.generation;
        next_ = {message.round, message.chunk};
        run(message.session);
        pool_ =
            broken_.pool_is_not_agreed_upwards ? std::min(setup_.pool, message.pool) : message.pool;
    }
    RoundMessage answer = answer_to(message, RoundMessage::Kind::sync_answer);
    answer.time = children_[asked_last_].stamp;
    if (message.status == Status::done) {
        answer.rank = asked_last_;
        answer.session = session_;
    } else {
        answer.status = Status::wait;
        answer.rank = message.rank;
        answer.missing = message.missing;
        answer.anew = message.anew;
        answer.above = true;
    }
    if (message.status == Status::other) {
        answer.status = Status::other;
        answer.run = message.run;
        answer.session = message.session; // how long that run keeps the job
        answer.anew = false;
    }
    if (message.status == Status::over) {
        if (!first_anew_)
            first_anew_ = {message.rank, true};
        answer.missing = 0;
        answer.above = false;
        tell_over(asked_last_, answer);
    }
    out.push_back({.to = asked_last_, .message = answer}); // in the frame that brought it
}

} // namespace olaf::model
