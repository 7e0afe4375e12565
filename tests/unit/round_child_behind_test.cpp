// SPDX-License-Identifier: BSD-2-Clause
// A worker of a job whose others go on without it.
#include "round_child_test.hpp"

namespace olaf::test::round_child_behind_test {
namespace {

using namespace olaf;
using namespace olaf::test;

struct RoundChildBehindTest : RoundChildTest {
    RoundChildBehindTest()
        : RoundChildTest({.job = 3, .rank = 1, .lanes = 2, .workers = 2, .pool = 5}) {}

    /// Vector 0, of one chunk, is summed.
    void sum_one() {
        child.add(1, 0, 0);
        run(2);
        ASSERT_TRUE(contribution());
        give_result(0, 1);
        ASSERT_TRUE(child.is_idle());
    }
    RoundResult last_of(std::uint32_t round) const {
        RoundResult last = result(1, 2);
        last.round = round;
        return last;
    }
};

// Three vectors of two chunks, and a window of four: what it waits for isn't the window.
TEST_F(RoundChildBehindTest, SaysThatItWaitsWhereASumIsWithoutSomebody) {
    auto whole = result(0, 2), partial = whole, late = whole, few = whole;
    partial.partial = true;
    late.late = true;
    few.count = 1;
    for (const auto &[sum, waits] : {std::pair{whole, false}, std::pair{partial, true},
                                     std::pair{late, true}, std::pair{few, true}}) {
        child = RoundChild({.job = 3, .rank = 1, .lanes = 2, .workers = 2, .pool = 5}, vectors);
        for (int i = 0; i < 3; i++)
            child.add(2, 0, 0);
        run(2);
        EXPECT_FALSE(contribution().value().flush);
        EXPECT_FALSE(contribution().value().flush) << "each result lets another chunk be sent";
        ASSERT_FALSE(contribution());
        give(encode(sum), {9, 9});
        EXPECT_EQ(contribution().value().flush, waits);
    }
}

TEST_F(RoundChildBehindTest, KnowsHowFarTheOthersAre) {
    sum_one();
    EXPECT_EQ(child.behind(), 0U);
    give(encode(last_of(3)), {9, 8});
    EXPECT_EQ(child.behind(), 0U) << "its checksum is wrong";
    give(encode(result(0, 2)), {9, 9});
    EXPECT_EQ(child.behind(), 0U) << "it isn't the last chunk, and of an old round";
    give(encode(last_of(3)), {9, 9});
    EXPECT_EQ(child.behind(), 3U) << "rounds 1, 2 and 3";
    give(encode(last_of(2)), {9, 9});
    EXPECT_EQ(child.behind(), 3U);
    child.add(2, 0, 0);
    EXPECT_EQ(child.behind(), 2U);
}

TEST_F(RoundChildBehindTest, SkipsWithoutAWord) {
    sum_one();
    give(encode(last_of(3)), {9, 9});
    child.skip(2);
    child.skip(2);
    EXPECT_EQ(child.behind(), 1U);
    EXPECT_TRUE(child.is_idle());
    EXPECT_FALSE(contribution());
    EXPECT_EQ(child.add(2, 0, 0), 3U);
    EXPECT_EQ(contribution().value().round, 3U);
    EXPECT_EQ(child.behind(), 0U);
    EXPECT_TRUE(vectors.missed.empty()) << "nobody asked for them";
}

// Others may lack what this one didn't want: it has nothing to give there, and goes on.
TEST_F(RoundChildBehindTest, ProbesForWhatItSkippedWhereAllBeginBeforeIt) {
    sum_one();
    child.skip(1);
    child.add(1, 0, 0);
    ASSERT_EQ(contribution().value().round, 2U);
    give(encode(RoundResult{.job = 3,
                            .rank = 1,
                            .round = 2,
                            .count = 50,
                            .chunks = 1,
                            .generation = 60,
                            .stale = true}));
    ASSERT_FALSE(child.is_running());
    run(2, 1);
    const auto probe = contribution().value();
    EXPECT_EQ(probe.round, 1U);
    EXPECT_EQ(probe.lanes, 0);
    EXPECT_FALSE(contribution()) << "round 2 has the same slot";
    RoundResult skipped = result(0, 1);
    skipped.round = 1;
    give(encode(skipped), {9, 9});
    const auto own = contribution().value();
    EXPECT_EQ(own.round, 2U);
    EXPECT_EQ(own.lanes, 2);
    EXPECT_EQ(vectors.taken.size(), 1U) << "what was skipped isn't handed on";
}

} // namespace
} // namespace olaf::test::round_child_behind_test
