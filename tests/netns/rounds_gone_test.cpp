// SPDX-License-Identifier: BSD-2-Clause
// A node that is gone for good, or never answers: every worker fails in time and says what is silent.
#include <gtest/gtest.h>

#include <climits>
#include <latch>

#include "round_members.hpp"
#include "round_tree.hpp"
#include "two_armed.hpp"

namespace olaf::test::rounds_gone_test {
namespace {

using std::chrono::seconds;
using Clock = std::chrono::steady_clock;

constexpr unsigned lanes = 64;
constexpr auto timeout = seconds(1);

void use(CollectiveOptions &options) {
    options.format = Format::i64x1;
    options.lanes = lanes;
    options.timeout = timeout;
}

/// Each fails no sooner than its timeout, and a second later at most.
void expect_in_time(Clock::duration told) {
    EXPECT_GE(told, timeout);
    EXPECT_LT(told, timeout + seconds(1) + patience);
}

TEST(RoundsGone, ANodeThatIsDetachedInTheMiddleIsSilentToEveryWorker) {
    constexpr unsigned workers = 3;
    Testbed bed{{.way = Way::local, .place = Place::kernel}};
    bed.attach({"--round-slots", "64"});
    set_job(bed, workers, member_lanes, {"--format", "i64x1"});
    const auto options = [&](unsigned rank) {
        auto told = member_options(bed, rank, workers);
        use(told);
        return told;
    };
    Summing summing({.netns = bed.worker, .workers = {0, 1, 2}, .options = options, .check_books = [] {}});
    summing.await_sum_of(0b111);
    bed.olaf.detach();
    const auto gone = Clock::now();
    const auto errors = summing.errors();
    expect_in_time(Clock::now() - gone);
    ASSERT_EQ(errors.size(), workers);
    for (const auto &[rank, error] : errors)
        EXPECT_NE(error.find("the node has been silent for"), std::string::npos) << rank << ": " << error;
}

/// Each worker of a tree in a thread of its own. Nobody looks at books: a node is gone.
void for_each_worker(const RoundTree &tree, const std::function<void(Collective &, unsigned)> &work) {
    std::vector<std::jthread> threads;
    for (unsigned worker = 0; worker < tree.workers(); worker++)
        threads.emplace_back([&, worker] {
            const Inside inside(tree.netns_of_workers());
            auto options = tree.options_of(worker);
            use(options);
            auto collective = Collective::make(options).value();
            work(collective, worker);
        });
}

// Workers 0 and 1 are of the middle node, 2 and 3 of the leaf below it. Where the node that is gone isn't a
// worker's own, that one is told of it by its own node, or that its node's parent may be silent.
class RoundsChainGone : public testing::TestWithParam<unsigned> {};

TEST_P(RoundsChainGone, IsMissedByAllWorkersInTime) {
    RoundTree chain({{0, 0}, {0, 2}, {1, 2}});
    for (unsigned node = 0; node < 3; node++)
        chain.start(node, lanes);
    std::latch summed(4), gone(1);
    std::jthread stops([&] {
        summed.wait();
        chain.stop(GetParam());
        gone.count_down();
    });
    for_each_worker(chain, [&](Collective &collective, unsigned worker) {
        std::vector<std::int64_t> vector(100, worker);
        EXPECT_TRUE(collective.allreduce(std::span(vector)));
        summed.count_down();
        gone.wait();
        const auto began = Clock::now();
        const auto report = collective.allreduce(std::span(vector));
        ASSERT_FALSE(report);
        expect_in_time(Clock::now() - began);
        const auto error = report.error().message();
        const auto says = [&](const char *what) { return error.find(what) != std::string::npos; };
        if ((worker < 2 ? 1 : 2) == GetParam())
            EXPECT_TRUE(says("the node has been silent for")) << worker << ": " << error;
        else
            EXPECT_TRUE(says("its parent") || says("hasn't asked where to begin") || says("other nodes"))
                << worker << ": " << error;
    });
}

INSTANTIATE_TEST_SUITE_P(Its, RoundsChainGone, testing::Values(0, 1, 2), [](const auto &info) {
    return std::string(info.param == 0 ? "Root" : info.param == 1 ? "MiddleNode" : "Leaf");
});

TEST(RoundsGone, AParentThatNeverAnswersIsThoughtOfWhenWorkersBegin) {
    RoundTree tree({{0, 0}, {0, 2}});
    tree.start(0, lanes);
    tree.start(1, lanes);
    tree.stop(0);
    for_each_worker(tree, [&](Collective &collective, unsigned worker) {
        const auto joined = collective.join();
        ASSERT_FALSE(joined);
        const auto error = joined.error().message();
        EXPECT_NE(error.find("its parent"), std::string::npos) << worker << ": " << error;
    });
}

TEST(RoundsTwoArmedReplaced, WhileSumsAreUnderWayNobodyNotices) {
    TwoArmed node;
    node.attach();
    node.set();
    std::atomic<unsigned> last = UINT_MAX, done = 0;
    std::jthread replaces([&] {
        for (unsigned times = 0; times < 2; times++) {
            const unsigned seen = done;
            done.wait(seen);
            node.bed.olaf.replace({"--local", "--round-slots", "64"});
        }
        last = done + 3;
    });
    node.sum(last, &done);
    const auto job = node.job();
    expect_job_identities(job);
    EXPECT_EQ(job["chunks"]["completed"], last * TwoArmed::chunks);
    EXPECT_EQ(node.root_job()["contributions"]["added"], last * TwoArmed::chunks);
}

} // namespace
} // namespace olaf::test::rounds_gone_test
