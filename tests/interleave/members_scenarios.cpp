// SPDX-License-Identifier: BSD-2-Clause
// Members join, leave and fall silent while others contribute.
#include "job_acts.hpp"

namespace olaf::interleave {
namespace {

JobAct two_at_work() {
    return [](Node &node) { grow_up(node, 2); };
}
JobAct three_at_work() {
    return [](Node &node) { grow_up(node, 3); };
}

JobAct ask_anew(std::uint32_t rank) {
    return [=](Node &node) { node.sync(rank, c0, newer_stamp); };
}
JobAct order_by(std::uint32_t rank, olaf_control_action action) {
    return [=](Node &node) { node.order_by(rank, action); };
}

void add_joins(std::vector<JobScenario> &to) {
    to.push_back({"AJoinMeetsTheFirstChunkOfARound", third_absent, two_at_work(),
                  {join(2), contribution(0, c3)}});
    to.push_back({"AJoinMeetsTwoChunksOfANewRound", third_absent, two_at_work(),
                  {join(2), contributions(0, c3, later_beside), contribution(1, c3)}, 2});
    to.push_back({"AJoinMeetsTheEndOfAnOldChunk", third_absent,
                  [](Node &node) {
                      grow_up(node, 2);
                      node.contribute(0, c1);
                  },
                  {join(2), contributions(1, c1, c3)}});
    JobShape two_absent = third_absent;
    two_absent.absent = 0b110;
    const auto one_at_work = [](Node &node) { grow_up(node, 1); };
    to.push_back({"TwoJoinAtOnce", two_absent, one_at_work,
                  {join(1), join(2), contribution(0, c3)}, 2});
    to.push_back({"AJoinIsOverWhileAnotherBegins", two_absent,
                  [](Node &node) {
                      grow_up(node, 1);
                      node.join(1, join_stamp);
                      node.contribute(0, c3);
                  },
                  {join(2), contribution(0, later_beside)}});
    to.push_back({"WhoHasJoinedSendsWhileOthersAreBehind", with_two_slots(third_absent),
                  [](Node &node) {
                      grow_up(node, 2);
                      contributed({0, 1}, c1)(node);
                  },
                  {[](Node &node) {
                       node.join(2, join_stamp);
                       node.contribute(2, c3);
                   },
                   contribution(0, c2)}});
    to.push_back({"WhoHasJoinedContributesAtOnce", third_absent,
                  [](Node &node) {
                      grow_up(node, 2);
                      node.join(2, join_stamp);
                  },
                  {contribution(2, c3), contribution(0, c3), contribution(1, c3)}, 2});
}

void add_leaves(std::vector<JobScenario> &to) {
    to.push_back({"ALeaveMeetsTheLastContribution", three, contributed({0}, c0),
                  {leave(2, 0), contribution(1, c0)}});
    to.push_back({"ALeaveMeetsAChunkOfANewRound", three, three_at_work(),
                  {leave(2, 1), contribution(0, c3), contribution(1, c3)}, 2});
    to.push_back({"ALeaveMeetsAJoin", third_absent, two_at_work(),
                  {leave(1, 1), join(2), contribution(0, c3)}, 2});
    to.push_back({"TwoLeaveAtOnce", three, three_at_work(),
                  {leave(1, 1), leave(2, 1), contribution(0, c3)}, 2});
    to.push_back({"AMemberJoinsAnewWhileItsChunkIsCompleted", with_two_slots(three),
                  [](Node &node) {
                      grow_up(node, 3);
                      node.contribute(0, c1);
                  },
                  {join(2), contribution(1, c1)}});
    JobShape two_enough = three;
    two_enough.threshold = 2;
    to.push_back({"AMemberFallsSilentWhileItContributes", two_enough,
                  [](Node &node) {
                      contributed({0, 1}, c0)(node);
                      node.wait(2'000'000'000'000);
                      node.contribute(0, c1);
                      node.expect_gone(2);
                  },
                  {contribution(1, c1), contribution(2, c1)}});
}

void add_orders(std::vector<JobScenario> &to) {
    to.push_back({"AJoinMeetsASync", third_absent, two_at_work(),
                  {join(2), ask_anew(0), contribution(1, c3)}, 2});
    to.push_back({"AJoinMeetsTheLastThatAsks", third_absent,
                  [](Node &node) {
                      grow_up(node, 2);
                      node.sync(0, c0, newer_stamp);
                  },
                  {join(2), ask_anew(1)}});
    to.push_back({"ALeaveMeetsTheLastThatAsks", three,
                  [](Node &node) {
                      grow_up(node, 3);
                      node.sync(0, c0, newer_stamp);
                      node.expect_partial(); // what is summed anew without it
                  },
                  {leave(2, 1), ask_anew(1)}});
    to.push_back({"ALeaveMeetsAReset", three,
                  [](Node &node) {
                      grow_up(node, 3);
                      node.expect_partial(); // as above
                  },
                  {leave(2, 1), order_by(0, OLAF_CONTROL_RESET), contribution(1, c3)}, 2});
    to.push_back({"AJoinMeetsAReset", third_absent, two_at_work(),
                  {join(2), order(OLAF_JOB_RESET), contribution(0, c3)}, 2});
    to.push_back({"AnFbcastMeetsContributions", three, contributed({0}, c0),
                  {order_by(1, OLAF_CONTROL_FBCAST), contribution(1, c0), contribution(0, c0)}, 2});
    to.push_back({"ASethMeetsAContribution", three, contributed({0}, c0),
                  {[](Node &node) { node.set_threshold(0, 2); }, contribution(1, c0)}});
    to.push_back({"AHaltByAMemberMeetsContributions", three, contributed({0}, c0),
                  {[](Node &node) {
                       node.order_by(0, OLAF_CONTROL_HALT);
                       node.order_by(0, OLAF_CONTROL_RESUME);
                   },
                   contribution(1, c0), contribution(2, c0)}, 2});
}

void add_below_a_parent(std::vector<JobScenario> &to) {
    JobShape absent = third_absent, all = three;
    absent.has_parent = all.has_parent = true;
    to.push_back({"AJoinMeetsAResult", absent,
                  [](Node &node) {
                      grow_up(node, 2);
                      node.hear_result(beside);
                  },
                  {join(2), [](Node &node) { node.hear_result(c0); }, contribution(0, c3)}, 2});
    to.push_back({"ALeaveMeetsAResult", all, contributed({0, 1, 2}, c0),
                  {leave(2, 1), [](Node &node) { node.hear_result(c0, 7); }, contribution(0, c3)},
                  2});
    to.push_back({"ALeaveMeetsAnAggregateThatLeaves", all, contributed({0}, c0),
                  {leave(2, 0), contribution(1, c0)}});
}

} // namespace

void add_members(std::vector<JobScenario> &to) {
    add_joins(to);
    add_leaves(to);
    add_orders(to);
    add_below_a_parent(to);
}

} // namespace olaf::interleave
