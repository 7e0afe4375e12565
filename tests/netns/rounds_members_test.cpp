// SPDX-License-Identifier: BSD-2-Clause
// Workers that come and go while others sum, with real sockets.
#include <gtest/gtest.h>

#include <atomic>
#include <climits>

#include "rounds.hpp"

namespace olaf::test::rounds_members_test {
namespace {

constexpr unsigned lanes = 64;
constexpr std::size_t elements = 63 * 20;

class RoundsMembers : public testing::Test {
  protected:
    Testbed bed{{.way = Way::local}};

    static void shape(CollectiveOptions &options) {
        options.format = Format::i64x1;
        options.lanes = lanes;
    }
    void set(const std::vector<std::string> &more = {}) {
        std::vector<std::string> words{"--format", "i64x1"};
        words.insert(words.end(), more.begin(), more.end());
        set_job(bed, 3, lanes, words);
    }
    /// One vector; its sum is that of as many workers, the lowest ranks, as the report says.
    static SumReport sum(Collective &collective, unsigned rank, unsigned round) {
        auto vector = part_of(rank, round, elements);
        const auto report = collective.allreduce(std::span(vector));
        if (!report)
            throw std::runtime_error(report.error().message());
        if (report->partial == 0) {
            EXPECT_EQ(vector, sum_of(report->least_count, round, elements)) << "round " << round;
        }
        return *report;
    }
};

TEST_F(RoundsMembers, AWorkerThatJoinsIsInEverySumFromItsFirstRoundOn) {
    bed.attach({"--round-slots", "64"});
    set({"--absent", "2"});
    std::atomic<unsigned> last = UINT_MAX, first = UINT_MAX;
    std::jthread others([&] {
        for_each_worker(
            bed, 2,
            [&](Collective &collective, unsigned rank) {
                for (unsigned round = 0; round < last; round++) {
                    const auto report = sum(collective, rank, round);
                    EXPECT_EQ(report.least_count, round < first ? 2u : 3u) << "round " << round;
                    EXPECT_EQ(report.partial, 0u);
                }
            },
            [](CollectiveOptions &options) {
                shape(options);
                options.workers = 3;
            });
    });
    const Inside inside(bed.worker);
    CollectiveOptions options;
    options.node = Address::resolve(bed.target(4).address).value();
    options.job = rounds_job;
    options.rank = 2;
    options.workers = 3;
    shape(options);
    auto joiner = Collective::make(options).value();
    const auto round = joiner.join_running();
    ASSERT_TRUE(round) << round.error().message();
    EXPECT_GT(*round, 0u);
    first = *round; // nobody has its sum before this one contributes to it
    last = *round + 30;
    for (unsigned own = *round; own < last; own++)
        EXPECT_EQ(sum(joiner, 2, own).least_count, 3u);
}

TEST_F(RoundsMembers, AWorkerThatLeavesIsNotWaitedFor) {
    bed.attach({"--round-slots", "64"});
    set();
    for_each_worker(
        bed, 3,
        [&](Collective &collective, unsigned rank) {
            for (unsigned round = 0; round < (rank == 2 ? 10u : 60u); round++) {
                const auto report = sum(collective, rank, round);
                EXPECT_EQ(report.least_count, round < 10 ? 3u : 2u) << "round " << round;
                EXPECT_EQ(report.partial, 0u);
            }
            if (rank == 2) {
                const auto gone = collective.depart(std::chrono::seconds(20));
                ASSERT_TRUE(gone) << gone.error().message();
                EXPECT_TRUE(*gone) << "the others went on, so nobody needs it";
            }
        },
        shape);
    EXPECT_EQ(job_status(bed).at("absent"), nlohmann::json::array({2}));
}

TEST_F(RoundsMembers, AWorkerThatDiesIsLeftOutByTheDeadlineAndThenIsNoMember) {
    bed.attach({"--round-slots", "64", "--member-timeout", "1s"});
    set({"--deadline", "20ms"});
    for_each_worker(
        bed, 3,
        [&](Collective &collective, unsigned rank) {
            bool whole = false; // without the third, and yet nobody is missing
            for (unsigned round = 0; round < 10 || (rank < 2 && !whole); round++) {
                const auto report = sum(collective, rank, round);
                whole = report.least_count == 2 && report.partial == 0;
            }
        },
        shape);
    const auto job = job_status(bed);
    EXPECT_EQ(job.at("silent"), 1);
    EXPECT_EQ(job.at("absent"), nlohmann::json::array({2}));
    EXPECT_GT(job.at("chunks").at("partial"), 0);
}

} // namespace
} // namespace olaf::test::rounds_members_test
