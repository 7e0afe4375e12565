// SPDX-License-Identifier: BSD-2-Clause
// What a worker of a job hands to its host in one piece (UDP_SEGMENT), and when it stops.
#include <gtest/gtest.h>

#include <vector>

#include "round_child.hpp"

namespace olaf::test::round_child_gso_test {
namespace {

struct RoundChildGso : RoundChildTest {
    RoundChildGso() : RoundChildTest({.job = 3, .rank = 1, .lanes = 8, .pool = 10, .gso = true}) {
        child.start();
        run(10);
        child.prove_way();
    }
    RoundChild::Sending sent() {
        now = std::max(now, child.wakes_at());
        return child.next(now, 1000).value();
    }
    JobSync asked(bool joins) {
        const auto sending = sent();
        EXPECT_EQ(sending.joins, joins);
        return decode_sync(bytes_of(sending)).value();
    }
    /// Pieces get to the node.
    void prove() {
        asked(true);
        answer(asked(true), OLAF_CONTROL_DONE);
        ASSERT_TRUE(child.is_way_proven());
    }
    /// Sends a vector of so many chunks, and tells whether they may leave in one piece.
    bool joins(std::uint32_t chunks) {
        round = child.add(chunks, 0, 0);
        const bool first = sent().joins;
        for (std::uint32_t chunk = 1; chunk < chunks; chunk++)
            EXPECT_EQ(sent().joins, first);
        return first;
    }
    /// The chunk's time is up, and it is sent again, alone.
    void repeat(std::uint32_t chunk) {
        now = child.wakes_at();
        const auto sending = child.next(now, 1000).value();
        EXPECT_FALSE(sending.joins);
        EXPECT_EQ(decode_contribution(bytes_of(sending)).value().chunk, chunk);
    }
    void bring(std::uint32_t chunk, std::uint32_t chunks) {
        auto sum = result(chunk, chunks);
        sum.round = round;
        give(encode(sum), std::vector<std::uint64_t>(child.lanes()));
    }
    std::uint32_t round = 0;
};

TEST_F(RoundChildGso, TheFirstQuestionsLeaveInPairsOfLongOnes) {
    for (int pair = 0; pair < 2; pair++) {
        const auto first = sent(), second = sent();
        EXPECT_TRUE(first.joins && second.joins);
        EXPECT_EQ(bytes_of(first), bytes_of(second)) << "both are still there";
        EXPECT_EQ(first.lanes.size(), child.lanes());
        EXPECT_FALSE(child.next(now, 1000)) << "before its time";
    }
    EXPECT_EQ(asked(false).padding, child.lanes());
    EXPECT_EQ(asked(false).padding, kSyncLanes) << "long and short ones in turn";
}

TEST_F(RoundChildGso, WhatIsSentForTheFirstTimeMayJoinOnceAPairWasAnswered) {
    prove();
    EXPECT_TRUE(joins(3));
    bring(2, 3);
    repeat(0);
}

TEST_F(RoundChildGso, NothingJoinsWhereASingleQuestionMayHaveBeenAnswered) {
    for (int question = 0; question < 4; question++)
        asked(true);
    answer(asked(false), OLAF_CONTROL_DONE);
    ASSERT_TRUE(child.is_way_proven());
    EXPECT_FALSE(joins(3));
}

TEST_F(RoundChildGso, NothingJoinsOnceTheHostCanNotCut) {
    asked(true);
    asked(true);
    child.stop_gso();
    answer(asked(false), OLAF_CONTROL_DONE);
    EXPECT_FALSE(joins(3));
}

// The node's queue was attached anew in generic mode, say: each piece is lost.
TEST_F(RoundChildGso, NothingJoinsAnyMoreWhereChunksNeedARepetitionInARow) {
    prove();
    ASSERT_TRUE(joins(5));
    for (std::uint32_t chunk = 0; chunk < 3; chunk++) {
        repeat(chunk);
        bring(chunk, 5);
    }
    bring(3, 5);
    bring(4, 5);
    EXPECT_FALSE(joins(3));
}

// All chunks of this member are there, and have their sums as soon as the late member's are.
TEST_F(RoundChildGso, AMemberThatIsLateDoesNotEndIt) {
    prove();
    for (int vector = 0; vector < 5; vector++) {
        ASSERT_TRUE(joins(4));
        for (int again = 0; again < 5; again++)
            repeat(0);
        for (std::uint32_t chunk = 0; chunk < 4; chunk++)
            bring(chunk, 4);
    }
    EXPECT_EQ(child.stats().repeated, 25U);
}

} // namespace
} // namespace olaf::test::round_child_gso_test
