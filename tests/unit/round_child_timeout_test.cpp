// SPDX-License-Identifier: BSD-2-Clause
// When a worker sends again what nobody answered.
#include <set>

#include "round_child_test.hpp"

namespace olaf::test::round_child_timeout_test {
namespace {

using namespace olaf;
using namespace olaf::test;

TEST_F(RoundChildTest, SendsAgainEverMoreSlowly) {
    child.add(1, 0, 0);
    run(0);
    ASSERT_TRUE(contribution());
    for (int i = 0; i < 9; i++) {
        const auto wait = std::min(RoundTimeout::kMost, RoundTimeout::kFirst * (1 << i));
        EXPECT_EQ(child.wakes_at(), now + wait);
        now += wait - 1ns;
        EXPECT_FALSE(contribution());
        now += 1ns;
        const auto again = contribution().value();
        EXPECT_TRUE(again.flush);
        EXPECT_EQ(again.chunk, 0U);
    }
    EXPECT_EQ(vectors.packed.size(), 1U) << "packed once";
    EXPECT_EQ(child.stats().repeated, 9U);
}

TEST_F(RoundChildTest, LearnsHowLongResultsTake) {
    child.add(40, 0, 0);
    run(0);
    for (std::uint32_t chunk = 0; chunk < 39; chunk++) {
        ASSERT_EQ(contribution().value().chunk, chunk);
        now += 10ms;
        if (chunk == 0) { // the first guess was too short
            ASSERT_TRUE(contribution());
        }
        give_result(chunk, 40);
    }
    ASSERT_TRUE(contribution());
    EXPECT_GT(child.wakes_at(), now + 9ms);
    EXPECT_LT(child.wakes_at(), now + 20ms);
}

// Otherwise the time follows the fast answers, and what is slow is repeated for ever.
TEST_F(RoundChildTest, LearnsFromTheFirstOfTwoAnswersToWhatItSentTwice) {
    child.add(40, 0, 0);
    run(0);
    for (std::uint32_t chunk = 0; chunk < 39; chunk++) {
        ASSERT_TRUE(contribution());
        now += 30ms;
        while (contribution()) // meanwhile it was overdue
            ;
        give_result(chunk, 40);
        give_result(chunk, 40); // the repetition's
    }
    ASSERT_TRUE(contribution());
    EXPECT_GT(child.wakes_at(), now + 29ms);
    EXPECT_LT(child.wakes_at(), now + 60ms);
    EXPECT_LT(child.stats().repeated, 10U);
}

// Nothing tells that the first sending was answered: it may be lost each time.
TEST_F(RoundChildTest, LearnsNothingFromOneAnswerToWhatItSentTwice) {
    child.add(2, 0, 0);
    run(0);
    ASSERT_TRUE(contribution());
    now += RoundTimeout::kFirst;
    ASSERT_TRUE(contribution());
    now += 1us;
    give_result(0, 2);
    ASSERT_TRUE(contribution());
    EXPECT_EQ(child.wakes_at(), now + 2 * RoundTimeout::kFirst) << "it begins where that ended";
}

TEST_F(RoundChildTest, SendsNothingAgainWhileAnswersMayLieUnread) {
    child.add(2, 0, 0);
    run(1);
    ASSERT_TRUE(contribution());
    now += RoundTimeout::kFirst;
    const auto sending = child.next(now, 1000, false);
    ASSERT_TRUE(sending) << "what is new may go";
    EXPECT_EQ(child.stats().repeated, 0U);
    EXPECT_FALSE(child.next(now, 1000, false));
    EXPECT_EQ(contribution().value().chunk, 0U);
    EXPECT_EQ(child.stats().repeated, 1U);
}

// Nothing came at all: the node is late, or somebody else. One question is enough then.
TEST_F(RoundChildTest, AsksForTheOldestAloneWhereNothingLaterWasAnswered) {
    child.add(4, 0, 0);
    run(2);
    for (int i = 0; i < 4; i++)
        ASSERT_TRUE(contribution());
    now = child.wakes_at();
    EXPECT_EQ(contribution().value().chunk, 0U);
    EXPECT_FALSE(contribution());
    for (std::uint32_t chunk = 0; chunk < 4; chunk++)
        give_result(chunk, 4);
    EXPECT_TRUE(child.is_idle());
    EXPECT_EQ(child.stats().repeated, 1U);
}

TEST_F(RoundChildTest, AsksForAllThatIsLostOnceSomethingComes) {
    child.add(4, 0, 0);
    run(2);
    for (int i = 0; i < 4; i++)
        ASSERT_TRUE(contribution());
    now = child.wakes_at();
    ASSERT_EQ(contribution().value().chunk, 0U);
    ASSERT_FALSE(contribution());
    now += 1ms;
    give_result(0, 4);
    EXPECT_FALSE(contribution()) << "the others may be on their way";
    now = child.wakes_at();
    std::set<std::uint32_t> again;
    while (const auto repeated = contribution())
        again.insert(repeated->chunk);
    EXPECT_EQ(again, (std::set<std::uint32_t>{1, 2, 3})) << "each by itself would take too long";
}

TEST_F(RoundChildTest, AsksForWhatWasOvertaken) {
    child.add(4, 0, 0);
    run(2);
    for (int i = 0; i < 4; i++)
        ASSERT_TRUE(contribution());
    give_result(3, 4);
    now += 1s;
    std::set<std::uint32_t> again;
    while (const auto repeated = contribution())
        again.insert(repeated->chunk);
    EXPECT_EQ(again, (std::set<std::uint32_t>{0, 1, 2}));
}

} // namespace
} // namespace olaf::test::round_child_timeout_test
