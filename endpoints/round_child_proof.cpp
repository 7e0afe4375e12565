// SPDX-License-Identifier: BSD-2-Clause
// docs/rounds.md, "The way to the node".
#include "round_child.hpp"

#include <algorithm>

namespace olaf {
namespace {

// Half of what is sent is long. If one in five is lost each way, one proof in ten million fails for that.
constexpr unsigned kShortAnswers = 16;

} // namespace

void RoundChild::prove_way() {
    proof_.emplace();
}

bool RoundChild::is_way_too_narrow() const {
    return proof_ && proof_->short_answers >= kShortAnswers;
}

// The last question once more: its answer changes nothing. The first one is long.
std::optional<RoundChild::Sending> RoundChild::send_proof(Time now) {
    if (!proof_ || now < proof_->at)
        return {};
    JobSync question = sync_;
    if (proof_->sent++ % 2 == 0)
        question.padding = options_.lanes;
    proof_->padding.resize(question.padding);
    proof_->at = now + std::min(timeout_.after(proof_->sent), kAskAtLeastEvery);
    return Sending{.header = encode(question), .lanes = proof_->padding};
}

// Short ones may answer what was asked before.
void RoundChild::take_proof(const JobSync &answer, Time now) {
    if (!proof_ || answer.action != sync_.action || answer.stamp != sync_.stamp)
        return;
    if (answer.padding == options_.lanes) {
        proof_.reset();
        last_progress_ = now;
    } else if (proof_->sent > 0) {
        proof_->short_answers++;
    }
}

} // namespace olaf
