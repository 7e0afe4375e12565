// SPDX-License-Identifier: BSD-2-Clause
// A worker that begins anew while the others go on: it was killed and started again, or called
// start() once more. No vector of the others is ever summed with one that it gives now. All others
// are told which rank it was, and after a start() of theirs all sum together again.
#include <gtest/gtest.h>

#include <latch>

#include "rounds.hpp"

namespace olaf::test::rounds_anew_test {
namespace {

constexpr unsigned rounds = 3, times = 2;
constexpr std::size_t elements = elements_of(40);

enum class How { process, start };

/// What `worker` gives to the first rounds of a session is what it gives to no other one.
void sum_some(Collective &collective, const JobWorkers &job, unsigned worker, unsigned session) {
    for (unsigned round = 0; round < rounds; round++)
        sum_round(collective, worker, job.workers(), 100 * session + round, elements);
}

/// The next vector of the session can't be summed, and the error says why.
void expect_told(Collective &collective, unsigned worker, unsigned session,
                 const std::string &who) {
    auto vector = part_of(worker, 100 * session + rounds, elements);
    const auto told = collective.allreduce(std::span(vector));
    ASSERT_FALSE(told) << "worker " << worker;
    EXPECT_TRUE(says(told.error().message(), who + " has begun anew"));
    EXPECT_EQ(told.error().code, 0) << "not behind a timeout: " << told.error().message();
}

/// The last worker begins anew, twice, in the middle of the others' vectors. `meanwhile`: what else
/// happens before it starts again. `who`: how others are told of it.
void begin_anew(const JobWorkers &job, How how, const std::string &who,
                const std::function<void()> &meanwhile = {}) {
    std::barrier<> all(static_cast<std::ptrdiff_t>(job.workers()));
    job.for_each_worker([&](Collective &collective, unsigned worker) {
        Together together(all);
        const bool begins_anew = worker + 1 == job.workers();
        for (unsigned session = 0; session < times; session++) {
            sum_some(collective, job, worker, session);
            together.wait(); // none lacks a sum when the session ends
            if (!begins_anew)
                expect_told(collective, worker, session, who);
            if (begins_anew && how == How::process)
                collective = Collective::make(job.options(worker)).value();
            if (begins_anew && meanwhile)
                meanwhile();
            const auto started = collective.start();
            ASSERT_TRUE(started) << "worker " << worker << ": " << started.error().message();
        }
        sum_some(collective, job, worker, times);
    });
}

struct Case {
    const char *name;
    JobSetting setting = {};
    How how = How::process;
};

class RoundsAnew : public testing::TestWithParam<Case> {};

TEST_P(RoundsAnew, NoSumHasAPartOfAnotherSession) {
    const RoundsBed bed(GetParam().setting);
    begin_anew(bed, GetParam().how, "rank 3");
}

INSTANTIATE_TEST_SUITE_P(
    Of, RoundsAnew,
    testing::Values(Case{"AProcess"}, Case{"AStart", {}, How::start},
                    Case{"AProcessOverIpv6", {.family = 6}},
                    Case{"AProcessLosingFivePercent", {.loss = 5}},
                    Case{"AStartLosingTwentyPercent", {.loss = 20}, How::start},
                    Case{"AStartByMulticast", {.group = "239.1.2.3"}, How::start}),
    by_name);

// One worker is between two calls, and asks nothing.
TEST(RoundsAnewWhileOneIsIdle, WhoWaitsForASumIsToldAtOnce) {
    const RoundsBed bed({.workers = 3});
    std::barrier<> all(3);
    std::latch told(1);
    bed.for_each_worker([&](Collective &collective, unsigned worker) {
        Together together(all);
        sum_some(collective, bed, worker, 0);
        together.wait();
        if (worker == 0)
            collective = Collective::make(bed.options(worker)).value();
        if (worker == 1) {
            expect_told(collective, worker, 0, "rank 0");
            told.count_down();
        }
        if (worker == 2)
            told.wait();
        const auto started = collective.start();
        ASSERT_TRUE(started) << "worker " << worker << ": " << started.error().message();
        sum_some(collective, bed, worker, 1);
    });
}

// The node's memory of who was there is gone. The members compare what they know themselves.
TEST(RoundsAnewAtANodeThatForgot, NoSumHasAPartOfAnotherSession) {
    RoundsBed bed;
    begin_anew(bed, How::process, "rank 3", [&] { bed.set_anew(bed.workers()); });
}

// The parent's answers come by another device than the node's.
TEST(RoundsAnewBelowAParentBehindAnotherDevice, NoSumHasAPartOfAnotherSession) {
    for (const int family : {4, 6}) {
        NodeBelowRoot node({.family = family});
        node.start();
        begin_anew(node, How::start, "rank 3");
    }
}

TEST(RoundsAnewInTree, AllWorkersOfAllNodesAreTold) {
    const std::vector<TreeNode> two_below = {{0, 0}, {0, 2}, {0, 2}},
                                chain = {{0, 1}, {0, 1}, {1, 2}},
                                everywhere = {{0, 2}, {0, 2}, {0, 1}};
    for (const auto &[shape, how] :
         {std::pair(two_below, How::start), {chain, How::process}, {everywhere, How::start}})
        begin_anew(RoundTree(shape), how, "");
}

// A job was set anew at the node, and no worker has begun anew: all go on where they were.
TEST(RoundsAnewAtANodeThatForgot, WhereNobodyBeganAnewAllGoOn) {
    RoundsBed bed;
    std::atomic<unsigned> through = 0;
    bed.for_each_worker([&](Collective &collective, unsigned worker) {
        sum_some(collective, bed, worker, 0);
        if (worker == 0)
            bed.order("reset");
        sum_some(collective, bed, worker, 1);
        through++;
    });
    EXPECT_EQ(through, bed.workers());
}

} // namespace
} // namespace olaf::test::rounds_anew_test
