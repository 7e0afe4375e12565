// SPDX-License-Identifier: BSD-2-Clause
// Every cell of the table of docs/rounds.md, at a root, and how many contributions complete a chunk there.
// What is UP is in rounds_tree_test.cpp and rounds_tree_late_test.cpp, one slot alone in rounds_one_slot_test.cpp, 256 ranks in rounds_frames_test.cpp.
#include "rounds_test.hpp"

namespace olaf::test::rounds_table_test {
namespace {

class RoundsTable : public RoundsTest {};

TEST_F(RoundsTable, TheFrameThatCompletesAChunkCarriesItsResultAway) {
    dropped(offer(contribution(0, 0)));
    EXPECT_EQ(sent_to(0, offer(contribution(1, 0))), result(0, {0, 1}, 0));
    EXPECT_EQ(counters().added, 2u);
    EXPECT_EQ(counters().completed, 1u);
    EXPECT_EQ(counters().riding, 1u);
}

TEST_F(RoundsTable, AResultRidesToTheNextMemberOnAnyContribution) {
    offer(contribution(0, 0));
    offer(contribution(1, 0));
    EXPECT_EQ(sent_to(1, offer(contribution(0, 1))), result(1, {0, 1}, 0));
    EXPECT_EQ(sent_to(0, offer(contribution(1, 1))), result(0, {0, 1}, 1));
    EXPECT_EQ(counters().riding, 3u);
}

TEST_F(RoundsTable, ADuplicateInAnOpenChunkAddsNothing) {
    dropped(offer(contribution(0, 0)));
    dropped(offer(contribution(0, 0)));
    EXPECT_EQ(counters().duplicate, 1u);
    EXPECT_EQ(sent_to(0, offer(contribution(1, 0))), result(0, {0, 1}, 0));
}

TEST_F(RoundsTable, ADuplicateOfAChunkThatIsDoneIsAnsweredWithTheResult) {
    offer(contribution(0, 0));
    offer(contribution(1, 0));
    EXPECT_EQ(sent_to(0, offer(contribution(0, 0))), result(0, {0, 1}, 0));
    EXPECT_EQ(counters().repeated, 1u);
    // It was owed to this one: now it isn't any more.
    EXPECT_EQ(sent_to(1, offer(contribution(1, 0))), result(1, {0, 1}, 0));
    EXPECT_EQ(counters().riding, 2u);
    dropped(offer(contribution(0, 1)));
    EXPECT_EQ(counters().duplicate, 2u);
}

TEST_F(RoundsTable, AContributionNewerThanBothBuffersOpensTheFreeOne) {
    for (const std::uint32_t round : {0u, 1u})
        dropped(offer(contribution(0, 0, round)));
    EXPECT_EQ(slot(0).buffer[0].state, OLAF_ROUND_OPEN);
    EXPECT_EQ(slot(0).buffer[1].state, OLAF_ROUND_OPEN);
    EXPECT_EQ(slot(0).buffer[1].round, 1u);
}

TEST_F(RoundsTable, AContributionWhoseSlotHasNoBufferLeftIsAhead) {
    for (const std::uint32_t round : {0u, 1u, 2u})
        dropped(offer(contribution(0, 0, round)));
    EXPECT_EQ(counters().ahead, 1u);
    EXPECT_EQ(counters().added, 2u);
}

TEST_F(RoundsTable, OfTwoResultsTheOlderOneGivesWay) {
    for (const std::uint32_t round : {0u, 1u, 2u})
        for (const std::uint32_t rank : {0u, 1u})
            offer(contribution(rank, 0, round));
    EXPECT_EQ(counters().completed, 3u);
    EXPECT_EQ(slot(0).buffer[0].round, 2u);
    EXPECT_EQ(slot(0).buffer[1].round, 1u);
}

TEST_F(RoundsTable, WhatIsNeitherNewerNorThereIsStale) {
    for (const std::uint32_t round : {0u, 1u, 2u})
        for (const std::uint32_t rank : {0u, 1u})
            offer(contribution(rank, 0, round));
    const auto answer = sent_to(0, offer(contribution(0, 0, 0)));
    EXPECT_EQ(answer.type, OLAF_RESULT);
    EXPECT_EQ(answer.flags & OLAF_FLAG_STALE, OLAF_FLAG_STALE);
    EXPECT_EQ(answer.round, 0u) << "the one that was asked for";
    EXPECT_EQ(answer.generation, job_generation);
    EXPECT_EQ(answer.count, job_generation) << "the generation that the contribution named";
    EXPECT_TRUE(answer.lanes.empty());
    EXPECT_EQ(counters().stale, 1u);
}

TEST_F(RoundsTable, AnotherGenerationIsStaleAndChangesNothing) {
    auto stranger = contribution(0, 0);
    stranger.generation = job_generation - 1;
    const auto answer = sent_to(0, offer(stranger));
    EXPECT_EQ(answer.flags & OLAF_FLAG_STALE, OLAF_FLAG_STALE);
    EXPECT_EQ(answer.generation, job_generation);
    EXPECT_EQ(answer.count, job_generation - 1);
    EXPECT_EQ(slot(0).buffer[0].state, OLAF_ROUND_FREE);
}

TEST_F(RoundsTable, AProbeIsAnsweredOnceTheResultIsThereAndAddsNothing) {
    auto probe = contribution(0, 0);
    probe.lanes.clear();
    dropped(offer(probe));
    offer(contribution(0, 0));
    dropped(offer(probe));
    offer(contribution(1, 0));
    EXPECT_EQ(sent_to(0, offer(probe)), result(0, {0, 1}, 0));
    EXPECT_EQ(counters().probes, 3u);
    EXPECT_EQ(counters().received, 2u);
}

TEST_F(RoundsTable, RoundsWrap) {
    for (const std::uint32_t round : {0xffffffffu, 0u})
        for (const std::uint32_t rank : {0u, 1u})
            offer(contribution(rank, 0, round));
    EXPECT_EQ(counters().completed, 2u);
    EXPECT_EQ(counters().stale, 0u);
}

/// Two of three complete a chunk.
class RoundsThreshold : public RoundsTest {
  protected:
    RoundsThreshold() : RoundsTest(two_of_three()) {}
    static olaf_job_setup two_of_three() {
        auto setup = small_job();
        setup.children = 3;
        setup.threshold = 2;
        return setup;
    }
    /// The result of two, to one of them or, LATE, to the third.
    [[nodiscard]] JobMessage of_two(std::uint32_t rank) const {
        auto message = result(rank, {0, 1}, 0);
        message.flags |= OLAF_FLAG_PARTIAL;
        if (rank == 2)
            message.flags |= OLAF_FLAG_LATE;
        return message;
    }
};

TEST_F(RoundsThreshold, SoManyCompleteAChunkAsPartial) {
    dropped(offer(contribution(0, 0)));
    EXPECT_EQ(sent_to(0, offer(contribution(1, 0))), of_two(0));
    EXPECT_EQ(counters().completed, 1u);
    EXPECT_EQ(counters().partial, 1u);
}

TEST_F(RoundsThreshold, WhoComesLaterIsAnsweredWithTheResultAsLate) {
    dropped(offer(contribution(0, 0)));
    EXPECT_EQ(sent_to(0, offer(contribution(1, 0))), of_two(0));
    EXPECT_EQ(sent_to(2, offer(contribution(2, 0))), of_two(2));
    EXPECT_EQ(sent_to(2, offer(contribution(2, 0))), of_two(2));
    EXPECT_EQ(counters().late, 2u);
    EXPECT_EQ(counters().added, 2u);
    EXPECT_EQ(counters().riding, 2u) << "it was owed to the late one, too";
    EXPECT_EQ(counters().repeated, 1u);
    // Nothing of it is in the sum.
    EXPECT_EQ(sent_to(1, offer(contribution(1, 0))), of_two(1));
}

/// A chunk that has been open for a nanosecond has been for too long.
class RoundsDeadline : public RoundsTest {
  protected:
    RoundsDeadline() : RoundsTest(hurried()) {}
    static olaf_job_setup hurried() {
        auto setup = small_job();
        setup.deadline_ns = 1;
        return setup;
    }
};

TEST_F(RoundsDeadline, ADuplicateSealsTheChunkAsPartial) {
    dropped(offer(contribution(0, 0)));
    auto alone = result(0, {0}, 0);
    alone.flags |= OLAF_FLAG_PARTIAL;
    EXPECT_EQ(sent_to(0, offer(contribution(0, 0))), alone);
    EXPECT_EQ(counters().duplicate, 1u);
    EXPECT_EQ(counters().partial, 1u);
    alone.rank = 1;
    alone.flags |= OLAF_FLAG_LATE;
    EXPECT_EQ(sent_to(1, offer(contribution(1, 0))), alone);
    EXPECT_EQ(counters().late, 1u);
}

TEST_F(RoundsDeadline, WhoIsStillMissingIsAdded) {
    dropped(offer(contribution(0, 0)));
    EXPECT_EQ(sent_to(0, offer(contribution(1, 0))), result(0, {0, 1}, 0));
    EXPECT_EQ(counters().partial, 0u);
}

/// Three contributions of two children complete a chunk, whosever they are.
class RoundsAny : public RoundsTest {
  protected:
    RoundsAny() : RoundsTest(three_of_two()) {}
    static olaf_job_setup three_of_two() {
        auto setup = small_job();
        setup.flags = OLAF_JOB_ANY;
        setup.threshold = 3;
        return setup;
    }
    [[nodiscard]] JobMessage made_at(std::uint32_t rank, std::uint64_t ns) const {
        auto message = contribution(rank, 0);
        message.generated_ns = ns;
        return message;
    }
};

TEST_F(RoundsAny, AWorkerCountsAgainWithWhatItMadeLater) {
    dropped(offer(made_at(0, 10)));
    dropped(offer(made_at(0, 11)));
    EXPECT_EQ(counters().added, 2u);
    auto expected = result(0, {0, 0, 1}, 0);
    expected.generated_ns = 11;
    EXPECT_EQ(sent_to(0, offer(made_at(1, 5))), expected) << "whole, with three of two children";
    EXPECT_EQ(counters().partial, 0u);
}

TEST_F(RoundsAny, WhatWasMadeNoLaterThanItsNewestIsADuplicate) {
    dropped(offer(made_at(0, 10)));
    dropped(offer(made_at(0, 10)));
    dropped(offer(made_at(0, 9)));
    EXPECT_EQ(counters().added, 1u);
    EXPECT_EQ(counters().duplicate, 2u);
    dropped(offer(made_at(1, 9)));
    EXPECT_EQ(counters().added, 2u) << "another child's time is its own";
}

TEST_F(RoundsAny, NothingIsAddedToAChunkThatIsDone) {
    dropped(offer(made_at(0, 10)));
    dropped(offer(made_at(0, 11)));
    auto expected = result(0, {0, 0, 1}, 0);
    expected.generated_ns = 11;
    EXPECT_EQ(sent_to(0, offer(made_at(1, 5))), expected);
    EXPECT_EQ(sent_to(0, offer(made_at(0, 12))), expected);
    EXPECT_EQ(counters().duplicate, 1u);
    EXPECT_EQ(counters().repeated, 1u);
}

} // namespace
} // namespace olaf::test::rounds_table_test
