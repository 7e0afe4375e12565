// SPDX-License-Identifier: BSD-2-Clause
// A node whose parent sends its results by multicast.
#include "rounds_tree_test.hpp"

namespace olaf::test::rounds_parents_group_test {
namespace {

class RoundsParentsGroup : public RoundsTree {
  protected:
    RoundsParentsGroup() {
        auto below = setup;
        below.flags = OLAF_JOB_PARENTS_GROUP;
        below.parent_group_be[0] = htonl(GetParam() == 4 ? 0xef011bff : 0xff020000);
        below.parent_group_be[3] = GetParam() == 4 ? 0 : htonl(0xfdff);
        begin(below);
        know_the_parent();
    }

    /// The same by multicast. The group is one to which the checksums of a frame to host 1 fit too.
    Ran tell_all(JobMessage message) { return tell_all(std::move(message), down()); }
    Ran tell_all(JobMessage message, const Path &path) {
        message.rank = OLAF_EVERY_WORKER;
        auto frame = path.carrying(message);
        if (GetParam() == 4)
            return queue.offer(with(frame, frame.l3 + 16, 0xef011bff, 4));
        frame = with(frame, frame.l3 + 24, 0xff02000000000000, 8);
        return queue.offer(with(frame, frame.l3 + 32, 0xfdff, 8));
    }
};

INSTANTIATE_TEST_SUITE_P(OfBothFamilies, RoundsParentsGroup, testing::Values(4, 6),
                         [](const auto &info) { return "Ipv" + std::to_string(info.param); });

TEST_P(RoundsParentsGroup, AResultToTheParentsGroupIsTaken) {
    complete(0);
    auto late = parents_result(0);
    late.flags |= OLAF_FLAG_LATE;
    EXPECT_EQ(sent_to(0, tell_all(late)), for_child(0, late));
    EXPECT_EQ(sent_to(1, offer(contribution(0, 1))), for_child(1, late));
    EXPECT_EQ(counters().completed, 1u);
}

TEST_P(RoundsParentsGroup, AResultToTheParentsGroupFromAnybodyElseIsRefused) {
    complete(0);
    dropped(tell_all(parents_result(0), down().source(3)));
    dropped(tell_all(parents_result(0), down().source_port(parent_port + 1)));
    EXPECT_EQ(queue.counters().not_allowed[OLAF_NOT_ALLOWED_JOB_RESULT], 2u);
    EXPECT_EQ(counters().completed, 0u);
}

TEST_P(RoundsParentsGroup, AResultToAnotherGroupGoesOn) {
    auto below = setup;
    below.parent_group_be[0] ^= htonl(1);
    begin(below);
    know_the_parent();
    complete(0);
    EXPECT_STREQ(verdict_name(tell_all(parents_result(0)).verdict), "XDP_PASS");
    EXPECT_EQ(queue.counters().bypassed[OLAF_BYPASS_FOREIGN], 1u);
}

} // namespace
} // namespace olaf::test::rounds_parents_group_test
