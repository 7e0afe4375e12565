// SPDX-License-Identifier: BSD-2-Clause
// docs/rounds.md, "Agreeing where to begin".
#include <algorithm>
#include <iterator>

#include "round_node.hpp"

namespace olaf::model {

void RoundNode::stop() {
    counters_.stopped++;
    running_ = false;
    generation_ += generation_ == UINT32_MAX ? 2 : 1;
    asked_.clear();
    next_.reset();
    misfit_.reset();
    pool_ = setup_.pool;
    line_.clear();
    for (Slot &slot : slots_)
        for (Buffer &buffer : slot) {
            counters_.undelivered += buffer.owed.size();
            buffer = {};
        }
    if (unsettled_ > 0)
        change(false, left_); // what was opened since is opened again
}

void RoundNode::run(std::uint32_t round, std::uint32_t chunk, std::uint8_t pool) {
    next_ = {round, chunk};
    run();
    pool_ = broken_.pool_is_not_agreed_upwards ? std::min(setup_.pool, pool) : pool;
}

// At the very first chunk nobody had joined yet.
void RoundNode::run() {
    if (next_ == std::tuple(0U, 0U))
        forgot_ = false;
    running_ = true;
}

// A newer stamp than this child's last one.
void RoundNode::new_question(std::int64_t tai, const RoundMessage &message) {
    children_[message.rank].stamp = message.time;
    if (running_ && !broken_.sync_does_not_stop)
        stop();
    asked_.insert(message.rank);
    const std::tuple named(message.round, message.chunk);
    const auto is_before = [](const auto &a, const auto &b) {
        const auto [round_a, chunk_a] = a;
        const auto [round_b, chunk_b] = b;
        return round_a == round_b ? chunk_a < chunk_b
                                  : static_cast<std::int32_t>(round_a - round_b) < 0;
    };
    if (!next_ || is_before(named, *next_) || broken_.begins_where_the_last_one_asks)
        next_ = named;
    if (!broken_.pool_is_not_agreed_upwards)
        pool_ = std::min(pool_, message.pool);
    if (!is_root())
        stamp_ = std::max(tai, stamp_ + 1); // what it told the parent may be out of date
    else if (all_asked())
        run();
}

void RoundNode::sync(std::int64_t tai, const RoundMessage &message, Out &out) {
    counters_.syncs++;
    Child &child = children_[message.rank];
    child.known = true;
    RoundMessage answer = message;
    if (!now_.contains(message.rank)) {
        answer.kind = RoundMessage::Kind::sync_answer;
        answer.status = RoundMessage::Status::gone;
        answer.generation = generation_;
        return out.push_back({.to = message.rank, .message = answer});
    }
    asked_last_ = message.rank;
    if (message.time > child.stamp)
        new_question(tai, message);
    answer.kind = RoundMessage::Kind::sync_answer;
    answer.generation = generation_;
    answer.pool = pool_;
    if (message.time == child.stamp && asked_.contains(message.rank) && all_asked() && is_root())
        run(); // who hadn't asked has left meanwhile
    if (message.time < child.stamp || (!running_ && !asked_.contains(message.rank))) {
        answer.status = RoundMessage::Status::old;
    } else if (running_) {
        answer.status = RoundMessage::Status::done;
        std::tie(answer.round, answer.chunk) = next_.value_or(std::tuple(0U, 0U));
        answer.pool = pool_;
    } else if (all_asked()) { // the question goes on to the parent
        RoundMessage up = message;
        up.rank = *setup_.rank_at_parent;
        std::tie(up.round, up.chunk) = *next_;
        up.time = stamp_;
        up.generation = parent_generation_;
        up.pool = pool_;
        up.padding = 0;
        out.push_back({.up = true, .message = up});
        return;
    } else {
        answer.status = RoundMessage::Status::wait;
        std::vector<std::uint32_t> missing;
        std::ranges::set_difference(now_, asked_, std::back_inserter(missing));
        answer.missing = static_cast<std::uint32_t>(missing.size());
        answer.rank = missing.front();
    }
    answer.generation = generation_;
    out.push_back({.to = message.rank, .message = answer});
}

void RoundNode::parents_answer(std::int64_t tai, const RoundMessage &message, Out &out) {
    if (running_ || !all_asked() || message.time != stamp_)
        return;
    if (message.status == RoundMessage::Status::old) {
        stamp_ = std::max(tai, stamp_ + 1); // asked with the next SYNC of a child
        return;
    }
    RoundMessage answer = message;
    answer.time = children_[asked_last_].stamp;
    answer.generation = generation_;
    if (message.status == RoundMessage::Status::done) {
        parent_generation_ = message.generation;
        run(message.round, message.chunk, message.pool);
        answer.rank = asked_last_;
        answer.pool = pool_;
    }
    out.push_back({.to = asked_last_, .message = answer}); // in the frame that brought it
}

} // namespace olaf::model
