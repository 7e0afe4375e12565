// SPDX-License-Identifier: BSD-2-Clause
#include "rounds_scenarios.hpp"

#include "job_acts.hpp"

namespace olaf::interleave {
namespace {

void add_sums(std::vector<JobScenario> &to) {
    to.push_back({"TwoContributionsCompleteAChunk", {}, [](Node &) {},
                  {contribution(0, c0), contribution(1, c0)}});
    to.push_back({"ThreeContributionsCompleteAChunk", {.children = 3}, [](Node &) {},
                  {contribution(0, c0), contribution(1, c0), contribution(2, c0)}});
    to.push_back({"AContributionComesTwiceAtOnce", {}, [](Node &) {},
                  {contribution(0, c0), contribution(0, c0), contribution(1, c0)}});
    to.push_back({"AFlushMeetsTheLastContribution", {.threshold = 2}, contributed({0}, c0),
                  {order(OLAF_JOB_FLUSH), contribution(1, c0)}});
    to.push_back({"OneChildsChunksOnTwoCpus", {.threshold = 2, .flags = OLAF_JOB_ANY},
                  contributed({0, 1}, beside),
                  {contribution(0, c3), contributions(0, later_beside, later_beside)}});
}

void add_line(std::vector<JobScenario> &to) {
    to.push_back({"TwoFramesWantOneDelivery", {.children = 3}, contributed({0, 1, 2}, c0),
                  {contribution(0, c1), contribution(1, c1)}});
    to.push_back({"ACompletionMeetsADelivery", {.children = 3},
                  [](Node &node) {
                      contributed({0, 1, 2}, c0)(node);
                      node.contribute(0, c1);
                  },
                  {contribution(1, c1), contribution(2, c1)}});
    to.push_back({"TwoResultsJoinTheLine", {},
                  [](Node &node) {
                      node.contribute(0, c0);
                      node.contribute(0, beside);
                  },
                  {contribution(1, c0), contribution(1, beside)}});
    const JobAct two_wait = [](Node &node) {
        node.contribute(0, c0);
        node.contribute(0, c1);
    };
    to.push_back({"ARiderMeetsABufferThatGivesWay", {.children = 3, .threshold = 1}, two_wait,
                  {contribution(0, c2), probe(1)}});
    to.push_back({"ACopyMeetsABufferThatGivesWay", {.children = 3, .threshold = 1}, two_wait,
                  {contribution(0, c2), [](Node &node) { node.probe(1, far, true); }}});
    to.push_back({"ARepetitionMeetsTheDeliveryItAsksFor", {}, contributed({0, 1}, c0),
                  {contribution(1, c0), contribution(0, c1)}});
    to.push_back({"CopiesMeetARider", {.children = 3}, contributed({0, 1, 2}, c0),
                  {[](Node &node) { node.contribute(0, c1, true); }, contribution(1, c1)}});
}

void add_lines(std::vector<JobScenario> &to) {
    constexpr JobShape own_lines{.children = 3, .lines = 2};
    to.push_back({"AFrameTakesFromAnotherCpusLine", own_lines, contributed({0, 1, 2}, c0),
                  {contribution(0, c1), contribution(1, c1)}});
    to.push_back({"ACompletionJoinsItsCpusLineWhileTheOtherIsServed", own_lines,
                  [](Node &node) {
                      contributed({0, 1, 2}, c0)(node);
                      node.contribute(0, c1);
                  },
                  {contribution(1, c1), contribution(2, c1)}});
    to.push_back({"CopiesOfAllLinesMeetARider", own_lines, contributed({0, 1, 2}, c0),
                  {contribution(1, c1), [](Node &node) { node.contribute(0, c1, true); }}});
    to.push_back({"AResetMeetsDeliveriesOfTwoLines", {.lines = 2},
                  [](Node &node) {
                      contributed({0, 1}, c0)(node);
                      node.contribute(0, c1);
                  },
                  {order(OLAF_JOB_RESET), contribution(1, c1)}});
    to.push_back({"TheJobIsSetAnewWhileTwoLinesAreServed", own_lines,
                  [](Node &node) {
                      contributed({0, 1, 2}, c0)(node);
                      node.contribute(0, c1);
                      node.contribute(1, c1);
                  },
                  {order(OLAF_JOB_REMOVE), contribution(2, c1)}});
}

void add_generations(std::vector<JobScenario> &to) {
    to.push_back({"AResetMeetsADelivery", {}, contributed({0, 1}, c0),
                  {order(OLAF_JOB_RESET), contribution(0, c1)}});
    to.push_back({"AResetMeetsTwoContributions", {}, contributed({0, 1}, c0),
                  {order(OLAF_JOB_RESET), contribution(0, c1), contribution(1, c1)}, 2});
    to.push_back({"AChildAsksAnewWhileAnotherContributes", {}, contributed({0, 1}, c0),
                  {[](Node &node) { node.sync(0, c1, newer_stamp); }, contribution(1, c1)}});
    to.push_back({"AllBeginAnewWhileAChunkIsCompleted", {}, contributed({0}, c0),
                  {[](Node &node) {
                       resync(node, {});
                       node.contribute(0, anew(c0));
                   },
                   contribution(1, c0)}});
    to.push_back({"ALaterRunBeginsWhileAChunkOfTheEarlierIsCompleted", {}, contributed({0}, c0),
                  {[](Node &node) {
                       node.sync(0, c0, newer_stamp, later_run);
                       node.sync(1, c0, newer_stamp, later_run);
                       node.contribute(0, anew(c0));
                   },
                   contribution(1, c0)}});
    to.push_back({"ALaterRunBeginsWhileTheEarlierAsks", {}, contributed({}, c0),
                  {[](Node &node) {
                       node.sync(0, c0, newer_stamp + 1, later_run);
                       node.sync(1, c0, newer_stamp + 1, later_run);
                   },
                   [](Node &node) { node.sync(1, c0, newer_stamp); }}, 2});
    to.push_back({"TwoLaterRunsAskAtOnce", {}, contributed({0}, c0),
                  {[](Node &node) { node.sync(0, c0, newer_stamp, later_run); },
                   [](Node &node) { node.sync(1, c0, newer_stamp, later_run + 1); }}, 2});
    to.push_back({"TwoOfALaterRunTakeTheJobAtOnce", {}, contributed({0}, c0),
                  {[](Node &node) { node.sync(0, c0, newer_stamp, later_run); },
                   [](Node &node) { node.sync(1, c0, newer_stamp, later_run); }}, 2});
    to.push_back({"AHaltMeetsAContribution", {}, contributed({0}, c0),
                  {[](Node &node) {
                       node.order(OLAF_JOB_HALT);
                       node.order(OLAF_JOB_RESUME);
                   },
                   contribution(1, c0)}});
    to.push_back({"ARemovalMeetsAContribution", {}, contributed({0, 1}, c0),
                  {order(OLAF_JOB_REMOVE), contribution(0, c1)}, 2});
    to.push_back({"ARemovalMeetsTheLastThatAsks", {},
                  [](Node &node) { node.sync(0, c0, newer_stamp); },
                  {order(OLAF_JOB_REMOVE), [](Node &node) { node.sync(1, c0, newer_stamp); }}, 2});
}

/// Behind the queue's own device, or another.
void add_parent(std::vector<JobScenario> &to, const JobShape &inner, const std::string &where) {
    const auto up = [](Node &node) { contributed({0, 1}, c0)(node); };
    const JobAct result = [](Node &node) { node.hear_result(c0); };
    to.push_back({"AResultMeetsARepetition" + where, inner, up, {result, contribution(0, c0)}});
    to.push_back({"AResultMeetsAnOverdueRepetition" + where, inner,
                  [=](Node &node) {
                      up(node);
                      node.wait(1'000'000'000);
                  },
                  {result, contribution(0, c0)}});
    to.push_back({"AResultMeetsTwoRepetitions" + where, inner, up,
                  {result, contribution(0, c0), contribution(1, c0)}, 2});
    to.push_back({"TwoResultsOfOneChunk" + where, inner, up, {result, result}});
    to.push_back({"TheParentGoesOnWhileAChunkIsCompleted" + where, inner, contributed({0}, c0),
                  {[](Node &node) { node.hear_result(c0, 0); }, contribution(1, c0)}});
    to.push_back({"TheParentEndsAChunkThatIsAskedFor" + where, inner,
                  [=](Node &node) {
                      up(node);
                      node.expect_over();
                  },
                  {[](Node &node) { node.hear_over(c0); }, contribution(0, c0)}});
    to.push_back({"AllBeginAnewWhileAnAggregateLeaves" + where, inner, contributed({0}, c0),
                  {[=](Node &node) { resync(node, inner); }, contribution(1, c0)}});
    to.push_back({"AllBeginAnewWhileAResultComes" + where, inner, up,
                  {[=](Node &node) {
                       resync(node, inner);
                       node.contribute(0, anew(c0));
                   },
                   result}});
}

std::vector<JobScenario> all() {
    std::vector<JobScenario> result;
    add_sums(result);
    add_line(result);
    add_lines(result);
    add_generations(result);
    add_parent(result, {.has_parent = true}, "");
    add_parent(result, {.has_parent = true, .two_armed = true}, "BehindAnotherDevice");
    add_members(result);
    add_multicast(result);
    return result;
}

class JobTrial : public Trial {
  public:
    JobTrial(const JobScenario &scenario, const JobPrograms &programs)
        : scenario_(scenario), node_(scenario.shape, programs) {}

    void begin() override {
        node_.power_on();
        scenario_.begin(node_);
        node_.keep();
    }
    void begin_again() override { node_.begin_again(); }
    std::vector<std::function<void()>> cpus() override {
        std::vector<std::function<void()>> result;
        for (const auto &act : scenario_.cpus)
            result.emplace_back([this, &act] { act(node_); });
        return result;
    }
    std::uint64_t settle() override { return node_.settle(); }

  private:
    const JobScenario &scenario_;
    Node node_;
};

} // namespace

const std::vector<JobScenario> &job_scenarios() {
    static const std::vector<JobScenario> result = all();
    return result;
}

Report explore(const JobScenario &scenario, const JobPrograms &programs, std::uint64_t most) {
    JobTrial trial(scenario, programs);
    return explore(trial, scenario.preemptions, most);
}

} // namespace olaf::interleave
