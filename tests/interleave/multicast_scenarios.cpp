// SPDX-License-Identifier: BSD-2-Clause
// Results leave in one frame for all while members ask for them, join and leave, and all begins anew.
#include "job_acts.hpp"

namespace olaf::interleave {
namespace {

constexpr JobShape two{.to_group = true};

constexpr JobShape by_multicast(JobShape shape) {
    shape.to_group = true;
    return shape;
}

/// The first child has contributed to both.
JobAct begun(Chunk one, Chunk other) {
    return [=](Node &node) {
        node.contribute(0, one);
        node.contribute(0, other);
    };
}

void add_frames(std::vector<JobScenario> &to) {
    to.push_back({"TwoFramesForAllLeaveAtOnce", two, begun(c0, beside),
                  {contribution(1, c0), contribution(1, beside)}});
    to.push_back({"ARepetitionMeetsTheFrameForAll", two, contributed({0}, c0),
                  {contribution(1, c0), contribution(0, c0)}});
    to.push_back({"TwoRepetitionsMeetTheFrameForAll", by_multicast({.children = 3}),
                  contributed({0, 1}, c0),
                  {contribution(2, c0), contribution(0, c0), contribution(1, c0)}, 2});
    to.push_back({"CopiesMeetAFrameForAll", two, begun(c0, beside),
                  {contribution(1, c0), [](Node &node) { node.contribute(1, beside, true); }}});
    to.push_back({"AFrameForAllMeetsABufferThatGivesWay", two, begun(c0, c1),
                  {contribution(1, c0),
                   [](Node &node) {
                       node.contribute(1, c1);
                       node.contribute(0, c2);
                   }}});
    to.push_back({"TwoContributeWhereOneIsEnough", by_multicast({.threshold = 1}), [](Node &) {},
                  {contribution(0, c0), contribution(1, c0)}});
}

void add_generations(std::vector<JobScenario> &to) {
    to.push_back({"AResetMeetsAFrameForAll", two, contributed({0}, c0),
                  {order(OLAF_JOB_RESET), contribution(1, c0)}});
    to.push_back({"AResetMeetsAFrameForAllAndWhoAsksForIt", two, contributed({0}, c0),
                  {order(OLAF_JOB_RESET), contribution(1, c0), contribution(0, c0)}, 2});
    to.push_back({"AllBeginAnewWhileAFrameForAllLeaves", two, contributed({0}, c0),
                  {[](Node &node) {
                       resync(node, {});
                       node.contribute(0, anew(c0));
                   },
                   contribution(1, c0)}});
    to.push_back({"ARemovalMeetsAFrameForAll", two, contributed({0}, c0),
                  {order(OLAF_JOB_REMOVE), contribution(1, c0)}, 2});
}

void add_changes(std::vector<JobScenario> &to) {
    const JobShape all = by_multicast(three), absent = by_multicast(third_absent);
    to.push_back({"AJoinMeetsAFrameForAll", absent,
                  [](Node &node) {
                      grow_up(node, 2);
                      node.contribute(0, c1);
                  },
                  {join(2), contributions(1, c1, c3)}});
    to.push_back({"AJoinIsOverWhileAFrameForAllLeaves", with_two_slots(absent),
                  [](Node &node) {
                      grow_up(node, 2);
                      node.join(2, join_stamp);
                      node.leave_two_to_open();
                      node.contribute(0, c1);
                  },
                  {contribution(1, c1), [](Node &node) {
                       node.contribute(0, c1); // asks
                       if (!node.has(0, c1))
                           return;
                       node.contribute(0, c3);
                       node.contribute(0, later_beside);
                   }}});
    to.push_back({"ALeaveMeetsAFrameForAll", all, contributed({0, 1}, c0),
                  {leave(2, 1), contribution(2, c0)}});
    to.push_back({"TheFirstMemberLeavesWhileAFrameForAllDoes", all, contributed({0, 1}, c0),
                  {leave(0, 1), contribution(2, c0), contribution(1, c0)}, 2});
}

void add_below_a_parent(std::vector<JobScenario> &to) {
    const JobShape inner = by_multicast({.has_parent = true});
    to.push_back({"AParentsResultForAllMeetsARepetition", inner, contributed({0, 1}, c0),
                  {[](Node &node) { node.hear_result(c0); }, contribution(0, c0)}});
    to.push_back({"TheParentGoesOnWithoutAllWhileOneContributes", inner, contributed({0}, c0),
                  {[](Node &node) { node.hear_result(c0, 0); }, contribution(1, c0)}});
    to.push_back({"TwoParentsResultsForAll", inner, contributed({0, 1}, c0),
                  {[](Node &node) { node.hear_result(c0); },
                   [](Node &node) { node.hear_result(c0); }}});
}

} // namespace

void add_multicast(std::vector<JobScenario> &to) {
    add_frames(to);
    add_generations(to);
    add_changes(to);
    add_below_a_parent(to);
}

} // namespace olaf::interleave
