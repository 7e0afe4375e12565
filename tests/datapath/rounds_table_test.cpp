// SPDX-License-Identifier: BSD-2-Clause
// Every cell of the table of docs/rounds.md, at a root.
#include "rounds_test.hpp"

using namespace olaf::test;

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

} // namespace
