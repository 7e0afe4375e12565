// SPDX-License-Identifier: BSD-2-Clause
// A member that lives but says nothing, in a job that waits for all: the others are told who it is.
#include <gtest/gtest.h>

#include <csignal>
#include <latch>

#include "round_members.hpp"
#include "round_tree.hpp"

namespace olaf::test::rounds_silent_test {
namespace {

using std::chrono::seconds;

TEST(RoundsSilent, AStoppedProcessIsNamedToAllOthersWithinTheirTimeoutAndASecond) {
    constexpr unsigned workers = 3;
    Testbed bed{{.way = Way::local, .place = Place::kernel}};
    bed.attach({"--round-slots", "64"});
    set_job(bed, workers, member_lanes, {"--format", "i64x1"});
    Process third([&] {
        const Inside inside(bed.worker);
        auto collective = Collective::make(member_options(bed, 2, workers)).value();
        for (bool goes_on = collective.join().has_value(); goes_on;)
            sum_as_member(collective, 2);
    });
    Summing summing(bed, 2, workers, [](CollectiveOptions &options) { options.timeout = seconds(2); });
    summing.await_sum_of(0b111);
    third.kill(SIGSTOP);
    const auto stopped = std::chrono::steady_clock::now();
    const auto errors = summing.errors();
    const auto told = std::chrono::steady_clock::now() - stopped;
    ASSERT_EQ(errors.size(), 2u);
    for (const auto &[rank, error] : errors)
        EXPECT_NE(error.find("rank 2 hasn't asked where to begin yet"), std::string::npos)
            << rank << ": " << error;
    EXPECT_GE(told, seconds(2));
    EXPECT_LT(told, seconds(2) + seconds(1) + patience);
}

// Worker 0 is the root's, 1 and 2 are of a node below, 3 of another one.
TEST(RoundsSilent, InATreeEachWorkerIsToldWhichRankOfWhichNodeItIs) {
    constexpr unsigned lanes = 64, silent = 2;
    RoundTree tree({{0, 1}, {0, 2}, {0, 1}});
    for (unsigned node = 0; node < 3; node++)
        tree.start(node, lanes);
    std::latch told(3);
    tree.for_each_worker(
        [&](Collective &collective, unsigned worker) {
            std::vector<std::int64_t> vector(100, worker);
            ASSERT_TRUE(collective.allreduce(std::span(vector)));
            if (worker == silent) {
                told.wait();
                return;
            }
            const auto report = collective.allreduce(std::span(vector));
            told.count_down();
            ASSERT_FALSE(report);
            const auto error = report.error().message();
            const std::string expected[] = {"rank 1 hasn't asked", "rank 1 hasn't asked", "",
                                            "rank 1 of a node above hasn't asked"};
            EXPECT_NE(error.find(expected[worker]), std::string::npos) << worker << ": " << error;
        },
        [](CollectiveOptions &options) {
            options.format = Format::i64x1;
            options.lanes = lanes;
            options.timeout = seconds(2);
        });
}

} // namespace
} // namespace olaf::test::rounds_silent_test
