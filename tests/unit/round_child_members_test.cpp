// SPDX-License-Identifier: BSD-2-Clause
// A worker that joins others in the middle of their rounds, one that leaves them, and one that is
// told that it is no member any more.
#include "round_child_test.hpp"

namespace olaf::test::round_child_members_test {
namespace {

using namespace olaf;
using namespace olaf::test;

struct RoundChildMembersTest : RoundChildTest {
    void join_at(std::uint32_t round) {
        child.join_late();
        run(1, round);
    }
};

TEST_F(RoundChildMembersTest, WhoJoinsLateBeginsWithTheRoundThatItIsTold) {
    child.join_late();
    JobSync asked = question().value();
    EXPECT_EQ(asked.action, OLAF_CONTROL_JOIN);
    answer(asked, OLAF_CONTROL_WAIT);
    EXPECT_FALSE(child.is_running());
    now = child.wakes_at();
    run(1, 8);
    EXPECT_TRUE(child.is_running());
    EXPECT_EQ(child.add(2, 0, 0), 8U);
    const auto first = contribution().value();
    EXPECT_EQ(first.round, 8U);
    EXPECT_EQ(first.generation, 50U);
}

TEST_F(RoundChildMembersTest, WhereTheOthersBeginBeforeItsFirstRoundItBeginsWithThat) {
    join_at(8);
    child.add(2, 0, 0);
    ASSERT_TRUE(contribution());
    RoundResult stale = {
        .job = 3, .rank = 1, .round = 8, .count = 50, .chunks = 2, .generation = 60, .stale = true};
    give(encode(stale));
    JobSync asked = question().value();
    EXPECT_EQ(asked.action, OLAF_CONTROL_SYNC);
    EXPECT_EQ(asked.round, 8U);
    asked.round = 7;
    asked.chunk = 5;
    asked.pool = 1;
    asked.generation = 61;
    answer(asked, OLAF_CONTROL_DONE);
    EXPECT_FALSE(child.failure());
    const auto again = contribution().value();
    EXPECT_EQ(again.round, 8U);
    EXPECT_EQ(again.chunk, 0U);
    EXPECT_EQ(again.generation, 61U);
}

TEST_F(RoundChildMembersTest, WhoLeavesNamesTheFirstRoundThatItIsntIn) {
    child.add(1, 0, 0);
    run(1);
    ASSERT_TRUE(contribution());
    give_result(0, 1);
    ASSERT_TRUE(child.is_idle());
    child.depart();
    JobSync asked = question().value();
    EXPECT_EQ(asked.action, OLAF_CONTROL_LEAVE);
    EXPECT_EQ(asked.round, 1U);
    answer(asked, OLAF_CONTROL_WAIT);
    EXPECT_FALSE(child.has_departed());
    answer(asked, OLAF_CONTROL_DONE);
    EXPECT_TRUE(child.has_departed());
    EXPECT_FALSE(child.next(now + 1s, 2000));
}

TEST_F(RoundChildMembersTest, WhoIsNoMemberAnyMoreFailsAndSaysSo) {
    child.add(1, 0, 0);
    run(1);
    ASSERT_TRUE(contribution());
    JobSync gone = {.action = OLAF_CONTROL_LEAVE, .job = 3, .rank = 1, .generation = 49};
    answer(gone, OLAF_CONTROL_GONE);
    EXPECT_FALSE(child.failure()) << "of another generation";
    gone.generation = 50;
    answer(gone, OLAF_CONTROL_GONE);
    ASSERT_TRUE(child.failure());
    EXPECT_NE(child.failure()->reason.find("no member"), std::string::npos);
}

} // namespace
} // namespace olaf::test::round_child_members_test
