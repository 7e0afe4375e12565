// SPDX-License-Identifier: BSD-2-Clause
// Members that have nothing to give to a chunk, and say so: nobody waits for them.

#include "rounds_tree.hpp"

namespace olaf::test::rounds_abstention_test {
namespace {

JobMessage abstaining(JobMessage contribution) {
    contribution.lanes.clear();
    contribution.flags |= OLAF_FLAG_PARTIAL;
    return contribution;
}

class RoundsAbstention : public RoundsTest {
  protected:
    RoundsAbstention() : RoundsTest(job_of(3)) { identities_hold = false; } // results are asked for again
    /// The sum of what these have given, as the rank gets it where it asks again.
    JobMessage partial_sum(std::uint32_t rank, const std::vector<std::uint32_t> &from) {
        auto expected = result(rank, from, 0);
        expected.flags |= OLAF_FLAG_PARTIAL;
        return expected;
    }
    [[nodiscard]] std::uint32_t state() const { return slot(0).buffer[0].state; }
};

TEST_F(RoundsAbstention, NobodyWaitsForWhoAbstains) {
    offer(contribution(0, 0));
    offer(abstaining(contribution(1, 0)));
    EXPECT_EQ(state(), OLAF_ROUND_OPEN) << "rank 2 may still give";
    offer(contribution(2, 0));
    EXPECT_EQ(state(), OLAF_ROUND_DONE);
    EXPECT_EQ(sent_to(0, offer(contribution(0, 0))), partial_sum(0, {0, 2}));
    EXPECT_EQ(sent_to(1, offer(abstaining(contribution(1, 0)))), partial_sum(1, {0, 2}));
    EXPECT_EQ(counters().added, 2u);
    EXPECT_EQ(counters().probes, 2u);
    EXPECT_EQ(counters().partial, 1u);
}

TEST_F(RoundsAbstention, TheLastWhoAbstainsCompletesTheChunk) {
    offer(contribution(0, 0));
    offer(contribution(2, 0));
    offer(abstaining(contribution(1, 0)));
    EXPECT_EQ(state(), OLAF_ROUND_DONE);
    EXPECT_EQ(sent_to(2, offer(contribution(2, 0))), partial_sum(2, {0, 2}));
}

TEST_F(RoundsAbstention, WhoOnlyAsksIsWaitedFor) {
    offer(contribution(0, 0));
    offer(contribution(2, 0));
    auto asks = contribution(1, 0);
    asks.lanes.clear();
    offer(asks);
    EXPECT_EQ(state(), OLAF_ROUND_OPEN);
    offer(contribution(1, 0));
    EXPECT_EQ(state(), OLAF_ROUND_DONE);
}

// A sum of nobody's would be none.
TEST_F(RoundsAbstention, WhoAbstainsOpensNothing) {
    for (std::uint32_t rank = 0; rank < 3; rank++)
        offer(abstaining(contribution(rank, 0)));
    EXPECT_EQ(state(), OLAF_ROUND_FREE);
}

TEST_F(RoundsAbstention, WhatIsGivenAfterwardsIsNotAdded) {
    offer(contribution(0, 0));
    offer(abstaining(contribution(1, 0)));
    offer(contribution(1, 0));
    EXPECT_EQ(counters().added, 1u);
    EXPECT_EQ(counters().duplicate, 1u);
}

class RoundsAbstentionBelow : public RoundsTree {};

INSTANTIATE_TEST_SUITE_P(OfBothFamilies, RoundsAbstentionBelow, both_families, family_name);

// So that a parent that waits for this node needn't wait for who abstains here.
TEST_P(RoundsAbstentionBelow, WhatTheOthersGaveGoesUpAsPartial) {
    dropped(offer(contribution(0, 0)));
    const auto up = sent_up(offer(abstaining(contribution(1, 0))));
    auto expected = contribution(0, 0);
    EXPECT_EQ(up.rank, own_rank);
    EXPECT_EQ(up.count, 1u);
    EXPECT_EQ(up.flags & OLAF_FLAG_PARTIAL, OLAF_FLAG_PARTIAL);
    EXPECT_EQ(up.lanes, expected.lanes);
    EXPECT_EQ(counters().up_sent, 1u);
}

} // namespace
} // namespace olaf::test::rounds_abstention_test
