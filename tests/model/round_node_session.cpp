// SPDX-License-Identifier: BSD-2-Clause
// docs/rounds.md, "Sessions".
#include <algorithm>
#include <iterator>
#include <numeric>

#include "round_node.hpp"

namespace olaf::model {

void RoundNode::note_session(const RoundMessage &message) {
    std::uint64_t &known = children_[message.rank].incarnation;
    if (session_ != 0 && message.session == 0 && known != 0 && known != message.incarnation &&
        !(replaced_ && now_.contains(*replaced_)))
        replaced_ = message.rank;
    known = message.incarnation;
    questions_[message.rank] = {.incarnation = message.incarnation,
                                .session = message.session,
                                .anew = message.session == 0 || message.anew};
    if (questions_[message.rank].anew && !first_anew_)
        first_anew_ = {message.rank, false};
    if (message.session != 0 && std::ranges::find(named_, message.session) == named_.end())
        named_.push_back(message.session);
}

bool RoundNode::is_in_session(std::uint32_t rank) const {
    const auto question = questions_.find(rank);
    return question != questions_.end() && question->second.session != 0;
}

std::vector<std::uint32_t> RoundNode::in_session() const {
    std::vector<std::uint32_t> ranks;
    std::ranges::copy_if(now_, std::back_inserter(ranks),
                         [&](std::uint32_t rank) { return is_in_session(rank); });
    return ranks;
}

std::vector<std::uint32_t> RoundNode::begun_anew() const {
    std::vector<std::uint32_t> ranks;
    std::ranges::copy_if(now_, std::back_inserter(ranks), [&](std::uint32_t rank) {
        return has_asked(rank) && questions_.at(rank).anew;
    });
    return ranks;
}

// Of all that have asked, members or not any more.
std::uint64_t RoundNode::incarnations() const {
    return std::accumulate(
        questions_.begin(), questions_.end(), std::uint64_t{0},
        [](std::uint64_t sum, const auto &each) { return sum + each.second.incarnation; });
}

// All members have asked. Can't they go on with each other?
bool RoundNode::is_over() const {
    if (in_session().empty() || broken_.sessions_do_not_matter)
        return false;
    if ((named_.size() > 1 && !broken_.two_sessions_do_not_matter) || begin_is_forgotten_)
        return true;
    // Below the root the parent says it.
    return is_root() && !begun_anew().empty() &&
           (incarnations() != named_.front() || broken_.incarnations_are_not_compared);
}

// Not all members have asked. Is the asker's session over all the same?
bool RoundNode::is_lost(std::uint32_t rank) const {
    return is_in_session(rank) && named_ == std::vector{session_} && replaced_ && now_.contains(*replaced_) &&
           !broken_.sessions_do_not_matter;
}

// Whoever is in a session fails, and is told for whom; the others wait, and are told for whom.
void RoundNode::tell_over(std::uint32_t rank, RoundMessage &answer) const {
    const bool is_in = is_in_session(rank);
    answer.status = is_in ? RoundMessage::Status::over : RoundMessage::Status::wait;
    answer.anew = !is_in;
    if (is_in) {
        std::tie(answer.rank, answer.above) = first_anew_.value_or(std::pair(kNobody, false));
        return;
    }
    const auto others = in_session();
    answer.missing = static_cast<std::uint32_t>(others.size());
    answer.rank = others.empty() ? kNobody : others.front();
}

} // namespace olaf::model
