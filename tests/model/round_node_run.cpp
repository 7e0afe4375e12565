// SPDX-License-Identifier: BSD-2-Clause
// docs/rounds.md, "Runs".
#include <olaf/run.h>

#include "round_node.hpp"

namespace olaf::model {
namespace {

bool is_alias_of(std::uint64_t alias, std::uint64_t training) {
    return alias == olaf_training_alias(training);
}

} // namespace

// Members of the run that has the job, heard lately.
std::vector<std::uint32_t> RoundNode::there(std::uint64_t now) const {
    std::vector<std::uint32_t> ranks;
    for (const std::uint32_t rank : in_run_)
        if (now_.contains(rank) && now - children_[rank].heard < setup_.member_timeout_ns)
            ranks.push_back(rank);
    return ranks;
}

// The one that the job was set for, as another one is told: of its training all, of another one the alias.
std::optional<Run> RoundNode::set_for_another_than(const Run &asks) const {
    const Run &only = setup_.run;
    if (only != Run{} && !is_alias_of(only.training, asks.training))
        return Run{.training = only.training};
    if (only.number != 0 && only.number != asks.number)
        return Run{.training = asks.training, .number = only.number};
    return {};
}

// The run because of which the message's can't have the job, as its sender is told.
std::optional<Run> RoundNode::barred_by(std::uint64_t now, const RoundMessage &message) const {
    const Run &asks = message.run;
    if (const auto only = set_for_another_than(asks))
        return only;
    if (run_ == Run{} || run_ == asks)
        return {};
    if (run_.training == asks.training)
        return asks.number > run_.number || broken_.older_runs_come_back ? std::nullopt
                                                                         : std::optional(run_);
    return there(now).empty() ? std::nullopt
                              : std::optional(Run{.training = olaf_training_alias(run_.training)});
}

// As if the job were set now.
void RoundNode::begin_membership() {
    now_.clear();
    for (std::uint32_t rank = 0; rank < setup_.children; rank++)
        if (!setup_.absent.contains(rank))
            now_.insert(rank);
    before_ = now_;
    newest_round_.reset();
    young_ = true;
    left_ = doubtful_ = false;
    forgot_ = !setup_.absent.empty() && !broken_.what_was_forgotten_does_not_matter;
    change(false, false);
}

void RoundNode::take_job(const Run &run) {
    if (was_taken_) {
        if (running_)
            stop();
        forget_questions();
        begin_membership();
        session_ = 0;
    }
    was_taken_ = true;
    run_ = run;
    in_run_.clear();
}

void RoundNode::end_run() {
    run_ = {};
    in_run_.clear();
}

// Of a SYNC or JOIN: whether its run has the job now.
bool RoundNode::admit(std::uint64_t now, const RoundMessage &message, Out &out) {
    if (const auto other = barred_by(now, message)) {
        const bool is_sync = message.kind == RoundMessage::Kind::sync;
        RoundMessage answer = answer_to(message, is_sync ? RoundMessage::Kind::sync_answer
                                                         : RoundMessage::Kind::order_answer);
        (is_sync ? counters_.syncs : counters_.controls)++;
        const auto ranks = set_for_another_than(message.run) ? std::vector<std::uint32_t>{} : there(now);
        answer.generation = 0;
        answer.status = RoundMessage::Status::other;
        answer.run = *other;
        answer.missing = static_cast<std::uint32_t>(ranks.size());
        answer.rank = ranks.empty() ? kNobody : ranks.front();
        out.push_back({.to = message.rank, .message = answer});
        return false;
    }
    if (message.kind == RoundMessage::Kind::order && message.generation != generation_) {
        counters_.controls++;
        is_old(message, out);
        return false;
    }
    if (run_ != message.run)
        take_job(message.run);
    in_run_.insert(message.rank);
    return true;
}

} // namespace olaf::model
