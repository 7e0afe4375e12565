// SPDX-License-Identifier: BSD-2-Clause
// Two trainings that were given one job, and two starts of one training: no vector of one run is ever summed with
// one of another, and whoever can't have the job is told so at once, whatever its timeout is.
#include <gtest/gtest.h>

#include "rounds.hpp"

namespace olaf::test::rounds_runs_test {
namespace {

constexpr std::size_t elements = elements_of(40);
constexpr auto long_timeout = std::chrono::minutes(10);

/// So many vectors, each the run's own.
void sum_some(Collective &collective, const JobWorkers &job, unsigned worker, unsigned run) {
    for (unsigned round = 0; round < 3; round++)
        sum_round(collective, worker, job.workers(), 100 * run + round, elements);
}

CollectiveOptions of_run(CollectiveOptions options, const std::string &training, std::uint64_t number = 0) {
    options.run = training;
    options.run_number = number;
    options.timeout = long_timeout;
    return options;
}

/// It failed, not behind a timeout, and says so.
template <class Outcome>
void expect_failed(const Outcome &outcome, const std::string &words) {
    ASSERT_FALSE(outcome);
    EXPECT_TRUE(says(outcome.error().message(), words));
    EXPECT_EQ(outcome.error().code, 0) << "not behind a timeout: " << outcome.error().message();
}

TEST(RoundsRuns, AnotherTrainingIsRefusedAtOnceAndTheOthersSumsGoOn) {
    const RoundsBed bed;
    bed.for_each_worker([&](Collective &collective, unsigned worker) {
        sum_some(collective, bed, worker, 0);
        auto other = Collective::make(of_run(bed.options(worker), "another"));
        ASSERT_TRUE(other) << other.error().message();
        expect_failed(other->start(), "rank 0 and 3 others");
        expect_failed(other->join(), "is in use by another run");
        sum_some(collective, bed, worker, 1);
    });
    EXPECT_EQ(bed.job()["run_ranks"], nlohmann::json::parse("[0, 1, 2, 3]"));
}

class RoundsLaterRuns : public testing::TestWithParam<JobSetting> {};

// The earlier run's processes live, and so their ranks are bound to where they are.
TEST_P(RoundsLaterRuns, HaveTheJobAtOnceAndTheEarlierProcessesAreTold) {
    const RoundsBed bed(GetParam());
    std::barrier<> all(static_cast<std::ptrdiff_t>(bed.workers()));
    bed.for_each_worker(
        [&](Collective &earlier, unsigned worker) {
            Together together(all);
            sum_some(earlier, bed, worker, 0);
            together.wait(); // none lacks a sum of the earlier run
            auto later = Collective::make(of_run(bed.options(worker), "test", 2));
            ASSERT_TRUE(later) << later.error().message();
            const auto started = later->start();
            ASSERT_TRUE(started) << started.error().message();
            sum_some(*later, bed, worker, 1);
            together.wait();
            auto vector = part_of(worker, 200, elements);
            expect_failed(earlier.allreduce(std::span(vector)), "a later run of this training");
            expect_failed(earlier.start(), "a later run of this training");
            sum_some(*later, bed, worker, 2);
        },
        [](CollectiveOptions &options) {
            options.run_number = 1;
            options.timeout = long_timeout;
        });
}

INSTANTIATE_TEST_SUITE_P(Of, RoundsLaterRuns,
                         testing::Values(JobSetting{}, JobSetting{.family = 6}, JobSetting{.loss = 5}),
                         [](const auto &info) {
                             return info.param.loss != 0 ? "LosingFivePercent" : info.param.family == 6 ? "ByIpv6" : "ByIpv4";
                         });

TEST(RoundsRuns, AJobIsFreeForAnotherTrainingOnceAllHaveFinished) {
    const RoundsBed bed;
    for (const auto *training : {"first", "second"}) {
        bed.for_each_worker(
            [&](Collective &collective, unsigned worker) {
                sum_some(collective, bed, worker, 0);
                EXPECT_TRUE(collective.finish().value());
            },
            [&](CollectiveOptions &options) { options = of_run(options, training); });
        EXPECT_EQ(bed.job()["run"], nullptr);
    }
}

// Its processes were killed, so that nobody has finished.
TEST(RoundsRuns, AReleasedJobIsFreeForAnotherTraining) {
    const RoundsBed bed;
    bed.sum_exactly(3, elements, [](CollectiveOptions &options) { options = of_run(options, "killed"); });
    const auto second = [&](CollectiveOptions &options) { options = of_run(options, "second"); };
    EXPECT_NE(bed.job()["run"], nullptr);
    bed.order("release");
    bed.sum_exactly(3, elements, second);
}

} // namespace
} // namespace olaf::test::rounds_runs_test
