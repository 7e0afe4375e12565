// SPDX-License-Identifier: BSD-2-Clause
// A node whose sum is with its parent: what becomes of a contribution that comes only then, and of an answer to
// an earlier generation.
#include "rounds_tree_test.hpp"

namespace olaf::test::rounds_tree_late_test {
namespace {

/// Two of three children complete a chunk.
class RoundsTreeThreshold : public RoundsTree {
  protected:
    RoundsTreeThreshold() : RoundsTree(two_of_three(GetParam())) {}
    static olaf_job_setup two_of_three(int family) {
        auto setup = below_a_parent(family);
        setup.children = 3;
        setup.threshold = 2;
        return setup;
    }
};

INSTANTIATE_TEST_SUITE_P(OfBothFamilies, RoundsTreeThreshold, testing::Values(4, 6),
                         [](const auto &info) { return "Ipv" + std::to_string(info.param); });

TEST_P(RoundsTreeThreshold, WhoComesAfterTheSumHasGoneUpIsLateAndGetsTheResultAsSuch) {
    EXPECT_EQ(complete(0).flags & OLAF_FLAG_PARTIAL, OLAF_FLAG_PARTIAL);
    auto overdue = slot(0);
    overdue.buffer[0].up_ns -= 300'000'000;
    set_slot(0, overdue);
    for (const auto late : {1u, 2u}) {
        dropped(offer(contribution(2, 0)));
        EXPECT_EQ(counters().late, late);
    }
    EXPECT_EQ(counters().up_again, 0u) << "it isn't one of those who wait for it";
    EXPECT_EQ(sent_to(0, tell(parents_result(0))), for_child(0, parents_result(0)));
    auto expected = for_child(2, parents_result(0));
    expected.flags |= OLAF_FLAG_LATE;
    EXPECT_EQ(sent_to(2, offer(contribution(2, 0))), expected);
    EXPECT_EQ(counters().late, 3u);
}

class RoundsTreeEarlier : public RoundsTree {};

INSTANTIATE_TEST_SUITE_P(OfBothFamilies, RoundsTreeEarlier, testing::Values(4, 6),
                         [](const auto &info) { return "Ipv" + std::to_string(info.param); });

TEST_P(RoundsTreeEarlier, StaleThatAnswersAnEarlierGenerationEndsNothing) {
    complete(0);
    JobMessage late{.type = OLAF_RESULT, .flags = OLAF_FLAG_STALE, .count = parent_generation - 1,
                    .generation = parent_generation};
    dropped(tell(late));
    EXPECT_EQ(slot(0).buffer[0].state, OLAF_ROUND_UP);
    EXPECT_EQ(sent_to(0, tell(parents_result(0))), for_child(0, parents_result(0)));
}

} // namespace
} // namespace olaf::test::rounds_tree_late_test
