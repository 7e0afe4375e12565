// SPDX-License-Identifier: BSD-2-Clause
// Which run has a job: docs/rounds.md, "Runs". The random tests beside the models have newer, older and other runs
// among their questions, from where their ranks are bound.

#include <algorithm>
#include <vector>

#include "rounds.hpp"
#include "rounds_tree.hpp"

namespace olaf::test::rounds_runs_test {
namespace {

constexpr olaf_run first_run = {.training = 0xaaaa, .number = 7}, later_run = {.training = 0xaaaa, .number = 8},
                   earlier_run = {.training = 0xaaaa, .number = 6}, other_run = {.training = 0xbbbb, .number = 9};

JobMessage question(std::uint32_t rank, const olaf_run &run, std::uint64_t stamp,
                    std::uint32_t action = OLAF_CONTROL_SYNC) {
    return {.type = OLAF_CONTROL, .flags = 0, .rank = rank, .count = action, .generated_ns = stamp, .chunk = 0,
            .chunks = 0, .generation = 0, .pool = 2, .lanes = process(rank, 0, run)};
}

class RoundsRuns : public RoundsTest {
  protected:
    static DatapathConfig with_short_timeout() {
        auto config = queue_with_rounds();
        config.member_timeout_ns = 10'000'000'000;
        return config;
    }
    explicit RoundsRuns(const olaf_job_setup &given = job_of(2)) : RoundsTest(given, with_short_timeout()) {
        identities_hold = false;
    }

    /// Where a process of that rank is that isn't at the rank's own place.
    static Path elsewhere(std::uint32_t rank, int family = 4) {
        Path path(family);
        return path.source(static_cast<std::uint8_t>(60 + rank)).source_port(static_cast<std::uint16_t>(51000 + rank))
            .from({2, 0, 0, 9, 0, static_cast<std::uint8_t>(rank)});
    }
    /// The answer, which must go back to where the frame came from.
    JobMessage answer(const JobMessage &message, const Path &from) {
        const auto asked = from.carrying(message);
        const auto received = sent_back(queue.offer(asked));
        if (!received)
            return {};
        const auto &here = received->frame;
        const std::size_t width = here.family == 4 ? 4 : 16, at = here.family == 4 ? 12 : 8;
        EXPECT_TRUE(std::equal(here.bytes.begin(), here.bytes.begin() + 6, asked.bytes.begin() + 6));
        EXPECT_TRUE(std::equal(here.bytes.begin() + static_cast<std::ptrdiff_t>(here.l3 + at + width),
                               here.bytes.begin() + static_cast<std::ptrdiff_t>(here.l3 + at + 2 * width),
                               asked.bytes.begin() + static_cast<std::ptrdiff_t>(asked.l3 + at)));
        EXPECT_EQ(received->port, get_be(asked.bytes, asked.l4, 2));
        return received->message;
    }
    JobMessage ask(std::uint32_t rank, const olaf_run &run, std::uint64_t stamp = 50) {
        return answer(question(rank, run, stamp), path_of(rank));
    }
    /// As a process of another training is told of a run.
    static olaf_run as_another(const olaf_run &run) { return {.training = olaf_training_alias(run.training), .number = 0}; }
    void expect_other(const JobMessage &got, const olaf_run &has, std::uint32_t there, std::uint32_t lowest) const {
        EXPECT_EQ(got.exponent, OLAF_CONTROL_OTHER);
        EXPECT_EQ(got.flags, OLAF_FLAG_ANSWER);
        EXPECT_EQ(got.generation, 0u) << "it is no member's";
        EXPECT_EQ(got.chunks, there);
        EXPECT_EQ(got.rank, lowest);
        ASSERT_EQ(got.lanes.size(), std::size_t{OLAF_SYNC_LANES});
        EXPECT_EQ(got.lanes[OLAF_SYNC_INCARNATION], 0u);
        EXPECT_EQ(got.lanes[OLAF_SYNC_TRAINING], has.training);
        EXPECT_EQ(got.lanes[OLAF_SYNC_RUN], has.number);
        if (there == 0) {
            EXPECT_EQ(got.lanes[OLAF_SYNC_SESSION], 0u);
        } else {
            EXPECT_GT(got.lanes[OLAF_SYNC_SESSION], queue.config().member_timeout_ns / 2);
            EXPECT_LE(got.lanes[OLAF_SYNC_SESSION], queue.config().member_timeout_ns);
        }
    }
    /// All have asked in that run, and it runs.
    void both_run(const olaf_run &run, std::uint64_t stamp = 50) {
        ask(0, run, stamp);
        EXPECT_EQ(ask(1, run, stamp).exponent, OLAF_CONTROL_DONE);
        EXPECT_EQ(job().state, OLAF_JOB_RUNNING);
    }
    [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> has_job() const {
        return {job().tenancy.run.training, job().tenancy.run.number};
    }
    static std::pair<std::uint64_t, std::uint64_t> as_pair(const olaf_run &run) { return {run.training, run.number}; }
    /// Nothing was heard of it for longer than the member timeout.
    void goes_silent(std::uint32_t rank) {
        be_up_for(queue.config().member_timeout_ns);
        auto child = queue.read<olaf_child>("olaf_children", rank);
        child.member.last_seen_ns = 1;
        queue.write("olaf_children", rank, child);
    }
    /// A contribution in the generation that the job has now.
    [[nodiscard]] JobMessage current(std::uint32_t rank, std::uint32_t chunks = 3) const {
        auto message = contribution(rank, 0);
        message.generation = job().generation;
        message.chunks = chunks;
        return message;
    }
};

TEST_F(RoundsRuns, AnotherTrainingIsToldWhoseTheJobIsWhereItAskedFromAndStopsNobody) {
    both_run(first_run);
    const auto before = job();
    for (const std::uint32_t action : {OLAF_CONTROL_SYNC, OLAF_CONTROL_JOIN})
        for (const int family : {4, 6}) {
            SCOPED_TRACE(family);
            expect_other(answer(question(1, other_run, 60, action), elsewhere(1, family)), as_another(first_run), 2, 0);
        }
    EXPECT_EQ(job().generation, before.generation);
    EXPECT_EQ(job().state, OLAF_JOB_RUNNING);
    EXPECT_EQ(counters().syncs, 4u);
    EXPECT_EQ(counters().controls, 2u);
    dropped(offer(current(0)));
    EXPECT_EQ(sent_to(0, offer(current(1))).type, OLAF_RESULT) << "its ranks are where they were";
}

TEST_F(RoundsRuns, AnAnswerOverIpv4HasNothingOfAnEarlierSendersLongAddress) {
    both_run(first_run);
    answer(question(1, other_run, 60), elsewhere(1, 6));
    answer(question(1, other_run, 61), elsewhere(1, 4));
    // The new run's rank is bound to an IPv4 address behind that: it is told apart by that address alone.
    EXPECT_EQ(answer(question(1, later_run, 62), elsewhere(1, 4)).exponent, OLAF_CONTROL_WAIT);
    const auto child = queue.read<olaf_child>("olaf_children", 1);
    EXPECT_EQ(child.member.family, 4);
    EXPECT_EQ(child.member.addr_be[1] | child.member.addr_be[2] | child.member.addr_be[3], 0u);
}

TEST_F(RoundsRuns, ATrainingIsRefusedWhereItsSocketWasAnotherOnes) {
    both_run(first_run);
    expect_other(ask(0, other_run, 60), as_another(first_run), 2, 0);
    EXPECT_EQ(job().state, OLAF_JOB_RUNNING);
}

TEST_F(RoundsRuns, ALaterRunHasTheJobAndItsRanksAtOnceFromAnyAddress) {
    both_run(first_run);
    const auto old = current(0);
    dropped(offer(old));
    EXPECT_EQ(answer(question(0, later_run, 40), elsewhere(0)).exponent, OLAF_CONTROL_OLD)
        << "its clock is behind: OLD tells the stamp that it must be above";
    EXPECT_EQ(answer(question(0, later_run, 60), elsewhere(0)).exponent, OLAF_CONTROL_WAIT);
    EXPECT_EQ(answer(question(1, later_run, 60), elsewhere(1)).exponent, OLAF_CONTROL_DONE);
    EXPECT_EQ(has_job(), as_pair(later_run));
    // What the earlier run has contributed is in no sum of this one's.
    dropped(queue.offer(elsewhere(0).carrying(current(0))));
    const auto sum = sent_back(queue.offer(elsewhere(1).carrying(current(1))));
    ASSERT_TRUE(sum);
    EXPECT_EQ(sum->message.lanes, sum_of({0, 1}, 0));
    // Its processes are told where they are, ask, and are told why.
    const auto stale = answer(old, path_of(0));
    EXPECT_EQ(stale.type, OLAF_RESULT);
    EXPECT_TRUE(stale.flags & OLAF_FLAG_STALE);
    EXPECT_EQ(stale.generation, 0u);
    expect_other(answer(question(0, first_run, 70), path_of(0)), later_run, 2, 0);
    EXPECT_EQ(job().state, OLAF_JOB_RUNNING);
    EXPECT_EQ(queue.counters().not_allowed[OLAF_NOT_ALLOWED_JOB_SOURCE], 1u);
}

TEST_F(RoundsRuns, WhatAnEarlierRunHasAskedCountsForNothing) {
    EXPECT_EQ(ask(1, first_run).exponent, OLAF_CONTROL_WAIT);
    EXPECT_EQ(answer(question(0, later_run, 60), elsewhere(0)).exponent, OLAF_CONTROL_WAIT)
        << "rank 1 hasn't asked in this run";
    EXPECT_EQ(job().state, OLAF_JOB_SYNCING);
}

TEST_F(RoundsRuns, AContributionOfThisGenerationFromElsewhereIsRefusedWithoutAWord) {
    both_run(first_run);
    dropped(queue.offer(elsewhere(0).carrying(current(0))));
    EXPECT_EQ(queue.counters().not_allowed[OLAF_NOT_ALLOWED_JOB_SOURCE], 1u);
    EXPECT_EQ(counters().received, 0u);
}

TEST_F(RoundsRuns, AnEarlierRunIsRefused) {
    both_run(first_run);
    expect_other(answer(question(0, earlier_run, 60), elsewhere(0)), first_run, 2, 0);
    goes_silent(0);
    goes_silent(1);
    expect_other(answer(question(0, earlier_run, 61), elsewhere(0)), first_run, 0, OLAF_EVERY_RANK);
}

TEST_F(RoundsRuns, TheSameRunFromElsewhereDoesNotGetARankThatIsThere) {
    both_run(first_run);
    dropped(queue.offer(elsewhere(0).carrying(question(0, first_run, 60))));
    EXPECT_EQ(queue.counters().not_allowed[OLAF_NOT_ALLOWED_JOB_SOURCE], 1u);
}

TEST_F(RoundsRuns, AnotherTrainingGetsTheJobWhenNoMemberWasHeardForLong) {
    both_run(first_run);
    goes_silent(0);
    expect_other(answer(question(0, other_run, 60), elsewhere(0)), as_another(first_run), 1, 1);
    goes_silent(1);
    EXPECT_EQ(answer(question(0, other_run, 61), elsewhere(0)).exponent, OLAF_CONTROL_WAIT);
    EXPECT_EQ(has_job(), as_pair(other_run));
    expect_other(answer(question(1, first_run, 62), path_of(1)), as_another(other_run), 1, 0);
}

TEST_F(RoundsRuns, AMemberThatHasLeftKeepsTheJobFromNobody) {
    both_run(first_run);
    for (const std::uint32_t rank : {0u, 1u}) {
        expect_other(answer(question(0, other_run, 60), elsewhere(0)), as_another(first_run), 2 - rank, rank);
        offer({.type = OLAF_CONTROL, .flags = 0, .rank = rank, .round = 1, .count = OLAF_CONTROL_LEAVE,
               .chunks = 0, .generation = job().generation});
    }
    EXPECT_EQ(answer(question(0, other_run, 61), elsewhere(0)).exponent, OLAF_CONTROL_WAIT);
    EXPECT_EQ(answer(question(1, other_run, 61), elsewhere(1)).exponent, OLAF_CONTROL_DONE)
        << "its members are those that olaf job set named";
}

TEST_F(RoundsRuns, AFarewellOfAllGivesTheJobBack) {
    both_run(first_run);
    dropped(offer(current(0, OLAF_FAREWELL_CHUNKS)));
    EXPECT_EQ(has_job(), as_pair(first_run)) << "only one has finished";
    offer(current(1, OLAF_FAREWELL_CHUNKS));
    EXPECT_EQ(has_job(), as_pair({}));
    EXPECT_EQ(answer(question(0, other_run, 60), elsewhere(0)).exponent, OLAF_CONTROL_WAIT);
    EXPECT_EQ(has_job(), as_pair(other_run));
}

TEST_F(RoundsRuns, AFarewellThatLacksSomebodyOrMeetsAVectorDoesNot) {
    both_run(first_run);
    auto partial = current(0, OLAF_FAREWELL_CHUNKS);
    partial.flags |= OLAF_FLAG_PARTIAL;
    dropped(offer(partial));
    offer(current(1, OLAF_FAREWELL_CHUNKS));
    EXPECT_EQ(has_job(), as_pair(first_run));
    const auto again = [&](std::uint32_t rank, std::uint32_t chunks) {
        auto message = current(rank, chunks);
        message.round = 1;
        return message;
    };
    offer(again(0, OLAF_FAREWELL_CHUNKS));
    offer(again(1, 3));
    EXPECT_EQ(counters().misfit, 1u);
    EXPECT_EQ(has_job(), as_pair(first_run));
}

TEST_F(RoundsRuns, ARegisteredRankIsNobodyElsesWhateverItsRun) {
    both_run(first_run);
    auto child = queue.read<olaf_child>("olaf_children", 0);
    child.member.flags = OLAF_MEMBER_REGISTERED;
    queue.write("olaf_children", 0, child);
    dropped(queue.offer(elsewhere(0).carrying(question(0, later_run, 60))));
    EXPECT_EQ(has_job(), as_pair(first_run)) << "nor does such a question take the job";
    auto process = path_of(0);
    process.source_port(52000);
    EXPECT_EQ(answer(question(0, later_run, 61), process).exponent, OLAF_CONTROL_WAIT)
        << "at its address it is the later run's at once, though the earlier process lives";
    child = queue.read<olaf_child>("olaf_children", 0);
    child.member.flags |= OLAF_MEMBER_PORT_BOUND;
    queue.write("olaf_children", 0, child);
    dropped(offer(question(0, {.training = later_run.training, .number = later_run.number + 1}, 62)));
}

TEST_F(RoundsRuns, AJoinOfALaterRunTakesTheJobAndWaitsForTheOthersToStart) {
    both_run(first_run);
    auto join = question(0, later_run, 60, OLAF_CONTROL_JOIN);
    const auto told = [&] {
        const auto old = answer(join, elsewhere(0));
        EXPECT_EQ(old.exponent, OLAF_CONTROL_OLD);
        EXPECT_EQ(old.generation, job().generation);
        return old.generation;
    };
    join.generation = told();
    EXPECT_EQ(has_job(), as_pair(first_run)) << "it didn't name the generation";
    join.generation = told();
    EXPECT_EQ(has_job(), as_pair(later_run)) << "which has ended with that";
    EXPECT_EQ(job().state, OLAF_JOB_SYNCING);
    EXPECT_EQ(answer(join, elsewhere(0)).exponent, OLAF_CONTROL_WAIT);
}

TEST_F(RoundsRuns, ALaterRunsFirstJoinIsToldARoundOfItsOwn) {
    both_run(first_run);
    auto late = current(0);
    late.round = 700;
    dropped(offer(late));
    EXPECT_EQ(job().membership.newest_round, 700u);
    both_run(later_run, 60);
    dropped(offer(current(0)));
    EXPECT_EQ(job().membership.newest_round, 0u);
}

olaf_job_setup only_for(std::uint64_t number) {
    auto setup = job_of(2);
    setup.run = {.training = olaf_training_alias(first_run.training), .number = number};
    return setup;
}

class RoundsRunsOfOneTraining : public RoundsRuns {
  protected:
    RoundsRunsOfOneTraining() : RoundsRuns(only_for(0)) {}
};

TEST_F(RoundsRunsOfOneTraining, TakeTheJobAndNoOther) {
    expect_other(answer(question(0, other_run, 50), elsewhere(0)), as_another(first_run), 0, OLAF_EVERY_RANK);
    both_run(first_run, 60);
    both_run(later_run, 70);
}

class RoundsRunsOfOneNumber : public RoundsRuns {
  protected:
    RoundsRunsOfOneNumber() : RoundsRuns(only_for(first_run.number)) {}
};

TEST_F(RoundsRunsOfOneNumber, AreThatOneAlone) {
    expect_other(answer(question(0, other_run, 50), elsewhere(0)), as_another(first_run), 0, OLAF_EVERY_RANK);
    expect_other(answer(question(0, later_run, 50), elsewhere(0)), first_run, 0, OLAF_EVERY_RANK);
    both_run(first_run, 60);
    expect_other(answer(question(0, later_run, 70), elsewhere(0)), first_run, 0, OLAF_EVERY_RANK);
}

class RoundsRunsOfFloats : public RoundsRuns {
  protected:
    RoundsRunsOfFloats() : RoundsRuns(of_floats(job_of(2))) {}
};

TEST_F(RoundsRunsOfFloats, AContributionOfAnEarlierRunIsToldThatItIsStale) {
    both_run(first_run);
    auto old = current(0);
    old.lanes.assign(setup.lanes, 0);
    answer(question(0, later_run, 60), elsewhere(0));
    const auto stale = answer(old, path_of(0));
    EXPECT_TRUE(stale.flags & OLAF_FLAG_STALE);
    EXPECT_EQ(counters().received, 0u);
}

class RoundsRunsInTree : public RoundsTree {
  protected:
    RoundsRunsInTree() { identities_hold = false; }
    /// The node's own question, once both children have asked in that run.
    JobMessage both_ask(const olaf_run &run, std::uint64_t stamp) {
        EXPECT_TRUE(sent_back(offer(question(0, run, stamp), GetParam())));
        return sent_up(offer(question(1, run, stamp + 1), GetParam()));
    }
};

INSTANTIATE_TEST_SUITE_P(OfBothFamilies, RoundsRunsInTree, both_families, family_name);

TEST_P(RoundsRunsInTree, ANodeAsksInItsChildrensRunAndPassesOtherOn) {
    auto up = both_ask(first_run, 50);
    ASSERT_EQ(up.lanes.size(), std::size_t{OLAF_SYNC_LANES});
    EXPECT_EQ(up.lanes[OLAF_SYNC_TRAINING], first_run.training);
    EXPECT_EQ(up.lanes[OLAF_SYNC_RUN], first_run.number);
    up.flags = OLAF_FLAG_ANSWER;
    up.exponent = OLAF_CONTROL_OTHER;
    up.generation = parent_generation;
    up.rank = 4;
    up.chunks = 2;
    up.lanes = {0, 12345, other_run.training, other_run.number};
    const auto told = sent_back(tell(up));
    ASSERT_TRUE(told);
    EXPECT_EQ(told->port, 41001) << "who asked last";
    EXPECT_EQ(told->message.exponent, OLAF_CONTROL_OTHER);
    EXPECT_EQ(told->message.flags, OLAF_FLAG_ANSWER | OLAF_FLAG_ABOVE);
    EXPECT_EQ(told->message.rank, 4u);
    EXPECT_EQ(told->message.chunks, 2u);
    EXPECT_EQ(told->message.lanes, (std::vector<std::uint64_t>{0, 12345, other_run.training, other_run.number}));
    EXPECT_EQ(job().state, OLAF_JOB_SYNCING);
}

} // namespace
} // namespace olaf::test::rounds_runs_test
