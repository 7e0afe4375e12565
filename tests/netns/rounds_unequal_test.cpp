// SPDX-License-Identifier: BSD-2-Clause
// Workers that aren't alike: one is slow, one dies. What the others get then is what the job was
// set to, and an error says who it was.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "rounds.hpp"

namespace olaf::test::rounds_unequal_test {
namespace {

constexpr unsigned workers = 4, lanes = 64, in_chunk = lanes - 1;
constexpr std::size_t chunks = 10, elements = in_chunk * chunks;

class RoundsUnequal : public testing::Test {
  protected:
    Testbed bed{{.way = Way::local}};

    void start(const std::vector<std::string> &more = {}) {
        std::vector<std::string> words = {"--format", "i64x1"};
        words.insert(words.end(), more.begin(), more.end());
        bed.attach({"--round-slots", "64"});
        set_job(bed, workers, lanes, words);
    }
    void run(const std::function<void(Collective &, unsigned rank)> &work,
             std::chrono::nanoseconds timeout = std::chrono::seconds(30)) {
        for_each_worker(bed, workers, work, [=](CollectiveOptions &options) {
            options.format = Format::i64x1;
            options.lanes = lanes;
            options.timeout = timeout;
        });
    }
};

/// The ranks whose parts are in a chunk of the sum, a bit each; nothing if it's no such sum.
std::optional<unsigned> ranks_in(const std::vector<std::int64_t> &sum, unsigned round,
                                 std::size_t chunk) {
    const auto from = static_cast<std::ptrdiff_t>(chunk * in_chunk);
    for (unsigned ranks = 1; ranks < 1u << workers; ranks++) {
        std::vector<std::int64_t> expected(elements);
        for (unsigned rank = 0; rank < workers; rank++)
            if ((ranks >> rank & 1) != 0)
                std::ranges::transform(expected, part_of(rank, round, elements), expected.begin(),
                                       [](std::int64_t a, std::int64_t b) {
                                           return static_cast<std::int64_t>(
                                               static_cast<std::uint64_t>(a) +
                                               static_cast<std::uint64_t>(b));
                                       });
        if (std::equal(expected.begin() + from, expected.begin() + from + in_chunk,
                       sum.begin() + from))
            return ranks;
    }
    return {};
}

TEST_F(RoundsUnequal, AWorkerAHundredTimesSlowerHoldsTheOthersUpAndChangesNoSum) {
    start();
    run([&](Collective &collective, unsigned rank) {
        for (unsigned round = 0; round < 10; round++) {
            std::this_thread::sleep_for(std::chrono::microseconds(rank == 3 ? 20'000 : 200));
            auto vector = part_of(rank, round, elements);
            const auto report = collective.allreduce(std::span(vector));
            ASSERT_TRUE(report) << report.error().message();
            ASSERT_EQ(vector, sum_of(workers, round, elements));
            EXPECT_EQ(report->partial + report->late, 0u);
        }
    });
    const auto job = job_status(bed);
    expect_job_identities(job);
    EXPECT_EQ(job["chunks"]["partial"], 0);
}

TEST_F(RoundsUnequal, WithADeadlineTheOthersGoOnWithoutOneThatDiedInTheMiddle) {
    start({"--deadline", "20ms"});
    run([&](Collective &collective, unsigned rank) {
        for (unsigned round = 0; round < 8; round++) {
            auto vector = part_of(rank, round, elements);
            if (rank == 3 && round == 4) { // some of its chunks are under way when it dies
                ASSERT_TRUE(collective.allreduce_async(std::span(vector)));
                ASSERT_TRUE(collective.poll());
                return;
            }
            const auto report = collective.allreduce(std::span(vector));
            ASSERT_TRUE(report) << report.error().message();
            for (std::size_t chunk = 0; chunk < chunks; chunk++) {
                const auto ranks = ranks_in(vector, round, chunk);
                ASSERT_TRUE(ranks) << "chunk " << chunk << " of round " << round << " is no sum";
                if (round > 4) {
                    EXPECT_EQ(*ranks & 8, 0u);
                }
            }
            if (round > 4) {
                EXPECT_EQ(report->partial, chunks);
                EXPECT_LE(report->least_count, 3u);
            }
        }
    });
    EXPECT_GE(job_status(bed)["chunks"]["partial"], 3 * chunks);
}

TEST_F(RoundsUnequal, WithAThresholdASlowOneIsLateAndKnowsIt) {
    start({"--threshold", "3"});
    // The slow one begins a round when the others have ended it, and they wait for it then: a
    // result that is too old is gone.
    std::atomic<unsigned> quick = 0, slow = 0, late = 0;
    const auto reaches = [](std::atomic<unsigned> &count, unsigned wanted) {
        for (unsigned seen = count; seen < wanted; seen = count)
            count.wait(seen);
    };
    run([&](Collective &collective, unsigned rank) {
        for (unsigned round = 0; round < 10; round++) {
            if (rank == 3)
                reaches(quick, 3 * (round + 1));
            auto vector = part_of(rank, round, elements);
            const auto report = collective.allreduce(std::span(vector));
            auto &ended = rank == 3 ? slow : quick;
            ended++;
            ended.notify_all();
            ASSERT_TRUE(report) << report.error().message();
            for (std::size_t chunk = 0; chunk < chunks; chunk++)
                ASSERT_EQ(ranks_in(vector, round, chunk), 7u) << "round " << round;
            EXPECT_EQ(report->least_count, 3u);
            if (rank == 3) {
                late += report->late;
            } else {
                EXPECT_EQ(report->late, 0u);
                reaches(slow, round + 1);
            }
        }
    });
    EXPECT_EQ(late, 10 * chunks);
}

TEST_F(RoundsUnequal, WithoutEitherOneThatDiesIsNamed) {
    start();
    run(
        [&](Collective &collective, unsigned rank) {
            auto vector = part_of(rank, 0, elements);
            ASSERT_TRUE(collective.allreduce(std::span(vector)));
            if (rank == 2)
                return;
            vector = part_of(rank, 1, elements);
            const auto report = collective.allreduce(std::span(vector));
            ASSERT_FALSE(report);
            EXPECT_NE(report.error().message().find("rank 2 hasn't asked"), std::string::npos)
                << report.error().message();
        },
        std::chrono::seconds(1));
}

} // namespace
} // namespace olaf::test::rounds_unequal_test
