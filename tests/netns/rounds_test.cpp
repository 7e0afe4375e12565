// SPDX-License-Identifier: BSD-2-Clause
// Workers sum vectors through a node, with real sockets: every one gets the exact sum, whatever the
// network loses and whatever happens to the node.
#include <gtest/gtest.h>

#include "losing.hpp"
#include "rounds.hpp"

namespace olaf::test::rounds_test {
namespace {

constexpr unsigned lanes = 64; // 63 of data: i64x1 elements
constexpr std::size_t elements = 63 * 40 + 17;

void as_integers(CollectiveOptions &options) {
    options.format = Format::i64x1;
    options.lanes = lanes;
}

const std::vector<std::string> integers = {"--format", "i64x1"};

/// Sums `rounds` vectors at each worker, all of them right.
void sum_exactly(const Testbed &bed, unsigned workers, unsigned rounds,
                 const std::function<void(CollectiveOptions &)> &more = as_integers,
                 std::size_t size = elements) {
    for_each_worker(
        bed, workers,
        [&](Collective &collective, unsigned rank) {
            for (unsigned round = 0; round < rounds; round++) {
                auto vector = part_of(rank, round, size);
                const auto report = collective.allreduce(std::span(vector));
                ASSERT_TRUE(report) << report.error().message();
                ASSERT_EQ(vector, sum_of(workers, round, size)) << "round " << round;
            }
        },
        more);
}

struct Setting {
    const char *name;
    unsigned workers;
    int family;
    bool generic;
};

class Rounds : public testing::TestWithParam<Setting> {
  protected:
    Testbed bed{{.way = Way::local}};
    void attach(bool generic) {
        bed.attach({"--round-slots", "256", "--mode", generic ? "skb" : "native"});
    }
};

TEST_P(Rounds, GiveEveryWorkerTheExactSum) {
    const auto [name, workers, family, generic] = GetParam();
    attach(generic);
    set_job(bed, workers, lanes, integers);
    sum_exactly(bed, workers, 20, [&, family = family](CollectiveOptions &options) {
        as_integers(options);
        options.node = Address::resolve(bed.target(family).address).value();
    });
    const auto job = job_status(bed);
    expect_job_identities(job);
    EXPECT_EQ(job["state"], "running");
    EXPECT_EQ(job["chunks"]["completed"], 20 * 41);
    EXPECT_EQ(job["contributions"]["added"], 20 * 41 * workers);
}

INSTANTIATE_TEST_SUITE_P(
    Of, Rounds,
    testing::Values(Setting{"OneWorker", 1, 4, false}, Setting{"TwoWorkers", 2, 4, false},
                    Setting{"FourWorkers", 4, 4, false}, Setting{"FourWorkersOverIpv6", 4, 6, false},
                    Setting{"EightWorkers", 8, 4, false}, Setting{"SixteenWorkers", 16, 4, false},
                    Setting{"SixteenWorkersOverIpv6", 16, 6, false},
                    Setting{"FourWorkersInGenericMode", 4, 4, true},
                    Setting{"FourWorkersInGenericModeOverIpv6", 4, 6, true}),
    [](const auto &info) { return info.param.name; });

TEST(RoundsOfAnyNumber, FromOneToSixteenWorkersAllGetTheExactSum) {
    constexpr unsigned rounds = 3, chunks = 5;
    Testbed bed{{.way = Way::local}};
    bed.attach({"--round-slots", "64"});
    for (unsigned workers = 1; workers <= 16; workers++) {
        SCOPED_TRACE(std::to_string(workers) + " workers");
        set_job(bed, workers, lanes, integers);
        sum_exactly(bed, workers, rounds, as_integers, std::size_t{63} * chunks);
        const auto job = job_status(bed);
        expect_job_identities(job);
        EXPECT_EQ(job["chunks"]["completed"], rounds * chunks);
        EXPECT_EQ(job["contributions"]["added"], rounds * chunks * workers);
        const auto removed = bed.olaf({"job", "remove", "in", std::to_string(rounds_job)});
        ASSERT_EQ(removed.status, 0) << removed.err;
    }
}

class RoundsWithLoss : public testing::TestWithParam<unsigned> {
  protected:
    Testbed bed{{.way = Way::local}};
};

TEST_P(RoundsWithLoss, InBothDirectionsTheSumIsExact) {
    bed.attach({"--round-slots", "64"});
    set_job(bed, 4, lanes, integers);
    const Losing there(bed.worker, "eth0", Losing::sent, GetParam());
    const Losing back(bed.worker, "eth0", Losing::received, GetParam());
    sum_exactly(bed, 4, 10);
    const auto job = job_status(bed);
    expect_job_identities(job);
    EXPECT_EQ(job["chunks"]["completed"], 10 * 41);
    EXPECT_GT(job["contributions"]["duplicate"].get<unsigned>(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Of, RoundsWithLoss, testing::Values(1u, 5u, 20u), [](const auto &info) {
    return std::to_string(info.param) + "Percent";
});

// Each worker's vector is cut in three, and each thread sums its part in a job of its own.
TEST(RoundsByThreads, GiveEveryWorkerTheExactSumThoughFramesAreLost) {
    constexpr unsigned threads = 3, workers = 3, rounds = 10;
    Testbed bed{{.way = Way::local}};
    bed.attach({"--round-slots", "192"});
    for (unsigned thread = 0; thread < threads; thread++)
        set_job(bed, workers, lanes, integers, rounds_job + thread);
    const Losing there(bed.worker, "eth0", Losing::sent, 5);
    const Losing back(bed.worker, "eth0", Losing::received, 5);
    sum_exactly(bed, workers, rounds, [](CollectiveOptions &options) {
        as_integers(options);
        options.threads = threads;
    });
    std::uint64_t completed = 0;
    const auto jobs = bed.olaf.status().json.at("jobs");
    ASSERT_EQ(jobs.size(), threads);
    for (const auto &job : jobs) {
        expect_job_identities(job);
        completed += job.at("chunks").at("completed").get<std::uint64_t>();
    }
    EXPECT_EQ(completed, rounds * 41) << "as many as one thread needs";
}

} // namespace
} // namespace olaf::test::rounds_test
