// SPDX-License-Identifier: BSD-2-Clause
// The processes of a node's workers in the random tests: which incarnation each has, and which session it believes
// in. Mostly as libolaf's are; some are killed and begin anew, some don't hear an answer, some say anything. Now and
// then all are started anew, as a later run, and processes of earlier runs and of other trainings ask.
#pragma once

#include <map>
#include <random>
#include <set>

#include "rounds_wire.hpp"

namespace olaf::test {

class Sessions {
  public:
    /// `newest` run: all nodes' workers share it.
    Sessions(std::mt19937_64 &random, model::Run &newest) : random_(&random), newest_(&newest) {}

    /// What the rank says in a SYNC; `again`: of a question that it has asked already.
    void ask(RoundMessage &question, bool again) {
        if (!again && chance(5))
            begin_anew(question.rank);
        say(question);
        if (!again)
            silent_.erase(question.rank);
        if (chance(2))
            question.session = chance(50) ? 0 : (*random_)();
        question.anew = chance(2);
    }
    /// The same in a JOIN; `anew`: of a process that hasn't asked yet.
    void join(RoundMessage &question, bool anew) {
        if (anew)
            begin_anew(question.rank);
        say(question);
    }
    /// What the rank is told, of a job that the run `has`. Not all hear it.
    void told(std::uint32_t rank, const RoundMessage &answer, const model::Run &has) {
        answers_[{answer.status, answer.anew, answer.above}]++;
        const bool says_which = answer.kind == RoundMessage::Kind::sync_answer ||
                                answer.action == RoundMessage::Action::join;
        if (says_which && answer.status == RoundMessage::Status::done && !deaf_.contains(rank))
            lives_[rank].session = answer.session;
        if (answer.status == RoundMessage::Status::other) // whoever has the job keeps it: all are of that run now
            *newest_ = has;
        if (answer.status == RoundMessage::Status::over || answer.status == RoundMessage::Status::other)
            begin_anew(rank);
        untold_.erase(rank);
    }
    /// The job has begun to run: so many ranks have asked, and all but one haven't heard.
    void ran(std::uint32_t ranks) {
        deaf_.clear();
        for (std::uint32_t rank = 0; rank < ranks; rank++) {
            untold_.insert(rank);
            if (chance(40))
                deaf_.insert(rank);
        }
    }
    /// Whether it has begun anew, and hasn't asked since.
    [[nodiscard]] bool is_silent(std::uint32_t rank) const { return silent_.contains(rank); }
    /// Who asks again as it hasn't heard, now and then.
    std::optional<std::uint32_t> asks_again() {
        if (untold_.empty() || !chance(30))
            return {};
        return *untold_.begin();
    }

    /// Such answers so far.
    [[nodiscard]] std::uint64_t other() const { return count(RoundMessage::Status::other, false, false); }
    [[nodiscard]] std::uint64_t other_above() const { return count(RoundMessage::Status::other, false, true); }
    [[nodiscard]] std::uint64_t over() const { return count(RoundMessage::Status::over, false, false); }
    [[nodiscard]] std::uint64_t over_above() const { return count(RoundMessage::Status::over, false, true); }
    [[nodiscard]] std::uint64_t anew() const { return count(RoundMessage::Status::wait, true, false); }
    [[nodiscard]] std::uint64_t anew_above() const { return count(RoundMessage::Status::wait, true, true); }

  private:
    [[nodiscard]] std::uint64_t count(RoundMessage::Status status, bool anew, bool above) const {
        const auto found = answers_.find({status, anew, above});
        return found == answers_.end() ? 0 : found->second;
    }
    struct Life {
        std::uint64_t incarnation = 0, session = 0;
        model::Run run = {};
    };
    std::uint32_t below(std::uint32_t end) { return static_cast<std::uint32_t>((*random_)() % end); }
    bool chance(std::uint32_t percent) { return below(100) < percent; }
    void begin_anew(std::uint32_t rank) {
        silent_.insert(rank);
        lives_[rank] = {.incarnation = chance(5) ? 0 : (*random_)(), .run = *newest_};
    }
    void say(RoundMessage &question) {
        if (!lives_.contains(question.rank))
            begin_anew(question.rank);
        question.incarnation = lives_[question.rank].incarnation;
        question.session = lives_[question.rank].session;
        if (below(1000) < 5) {
            newest_->number++;
            lives_[question.rank].run = *newest_;
        }
        question.run = lives_[question.rank].run;
        if (chance(1))
            question.run.number -= below(3);
        if (chance(1))
            question.run.training += below(2);
    }

    std::mt19937_64 *random_;
    model::Run *newest_;
    std::map<std::uint32_t, Life> lives_;
    std::set<std::uint32_t> untold_, deaf_, silent_;
    /// By status, ANEW and ABOVE.
    std::map<std::tuple<RoundMessage::Status, bool, bool>, std::uint64_t> answers_;
};

/// The lanes of a SYNC or JOIN, and of its answer, mean something: over IPv4 too UDP's checksum is there.
inline void expect_protected(const ReceivedJobMessage &received) {
    if (received.message.type == OLAF_CONTROL && !received.message.lanes.empty()) {
        EXPECT_NE(get_be(received.frame.bytes, received.frame.l4 + 6, 2), 0u);
    }
}

} // namespace olaf::test
