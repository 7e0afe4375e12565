// SPDX-License-Identifier: BSD-2-Clause
// docs/rounds.md, "Runs".
#include "round_node.hpp"

namespace olaf::model {

// Members of the run that has the job, heard lately.
std::vector<std::uint32_t> RoundNode::there(std::uint64_t now) const {
    std::vector<std::uint32_t> ranks;
    for (const std::uint32_t rank : in_run_)
        if (now_.contains(rank) && now - children_[rank].heard < setup_.member_timeout_ns)
            ranks.push_back(rank);
    return ranks;
}

// The run because of which the message's can't have the job.
std::optional<Run> RoundNode::barred_by(std::uint64_t now, const RoundMessage &message) const {
    const Run &only = setup_.run, &asks = message.run;
    if (only != Run{} && (only.training != asks.training || (only.number != 0 && only != asks)))
        return only;
    if (run_ == Run{} || run_ == asks)
        return {};
    if (run_.training == asks.training)
        return asks.number > run_.number || broken_.older_runs_come_back ? std::nullopt
                                                                         : std::optional(run_);
    return there(now).empty() ? std::nullopt : std::optional(run_);
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
        const auto ranks = *other == run_ ? there(now) : std::vector<std::uint32_t>{};
        answer.status = RoundMessage::Status::other;
        answer.run = *other;
        answer.missing = static_cast<std::uint32_t>(ranks.size());
        answer.rank = ranks.empty() ? kNobody : ranks.front();
        out.push_back({.to = message.rank, .message = answer});
        return false;
    }
    if (run_ != message.run)
        take_job(message.run);
    in_run_.insert(message.rank);
    return true;
}

} // namespace olaf::model
