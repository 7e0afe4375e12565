// SPDX-License-Identifier: BSD-2-Clause
// Who stops needs to know that nobody needs it any more.
#include "collective_test.hpp"

namespace olaf::test::collective_leave_test {
namespace {

using namespace olaf;
using namespace olaf::test;

constexpr std::chrono::milliseconds kPatience(200);

std::vector<std::int64_t> ones(std::size_t elements = 40) {
    return std::vector<std::int64_t>(elements, 1);
}

// Rank 0 has its sum and goes, rank 1's is lost on its way, and the node is restarted. `go` is how
// rank 0 goes; returns what rank 1 gets.
Result<SumReport> sum_of_the_one_left_behind(const std::function<void(Collective &)> &go,
                                             std::chrono::nanoseconds timeout) {
    Job job(2, 0, {.timeout = timeout});
    job.server.lose_results_of(1);
    Result<SumReport> left_behind;
    job.all([&](Collective &collective, std::uint32_t rank) {
        auto vector = ones();
        const auto report = collective.allreduce(std::span(vector));
        if (rank == 1) {
            left_behind = report;
            EXPECT_TRUE(!report || vector == std::vector<std::int64_t>(40, 2));
            EXPECT_TRUE(!report || collective.leave().value_or(false));
            return;
        }
        EXPECT_TRUE(report) << report.error().message();
        job.server.restart();
        job.server.lose_results_of({});
        go(collective);
    });
    return left_behind;
}

TEST(CollectiveLeave, WhoGoesWithoutItMayLeaveAnotherWithoutItsSum) {
    const auto report = sum_of_the_one_left_behind([](Collective &) {}, kPatience);
    ASSERT_FALSE(report);
    EXPECT_NE(report.error().message().find("rank 0 hasn't asked"), std::string::npos)
        << report.error().message();
}

TEST(CollectiveLeave, WaitsUntilAllHaveTheirSums) {
    const auto report = sum_of_the_one_left_behind(
        [](Collective &collective) {
            const auto left = collective.leave();
            ASSERT_TRUE(left) << left.error().message();
            EXPECT_TRUE(*left);
        },
        kSoon);
    EXPECT_TRUE(report) << report.error().message();
}

TEST(CollectiveLeave, EndsWithVectorsUnderWay) {
    const Job job(3, 0.05);
    job.all([](Collective &collective, std::uint32_t) {
        auto first = ones(), second = ones(160);
        const auto a = collective.allreduce_async(std::span(first));
        const auto b = collective.allreduce_async(std::span(second));
        const auto left = collective.leave();
        ASSERT_TRUE(left) << left.error().message();
        EXPECT_TRUE(a->done() && b->done());
        EXPECT_EQ(second, std::vector<std::int64_t>(160, 3));
        EXPECT_TRUE(collective.leave().value()) << "it has left";
        const auto after = collective.allreduce(std::span(first));
        ASSERT_FALSE(after);
        EXPECT_NE(after.error().message().find("has left"), std::string::npos);
    });
}

TEST(CollectiveLeave, AllMayJoinAgain) {
    const Job job(2);
    job.all([](Collective &collective, std::uint32_t) {
        for (int run = 0; run < 3; run++) {
            ASSERT_TRUE(collective.join());
            auto vector = ones();
            const auto report = collective.allreduce(std::span(vector));
            ASSERT_TRUE(report) << report.error().message();
            ASSERT_TRUE(collective.leave().value());
        }
    });
}

TEST(CollectiveLeave, SaysWhoIsMissingAfterATimeout) {
    const Job job(2);
    std::atomic<bool> over = false;
    job.all([&](Collective &collective, std::uint32_t rank) {
        auto vector = ones();
        ASSERT_TRUE(collective.allreduce(std::span(vector)));
        if (rank == 1)
            return over.wait(false);
        const auto left = collective.leave(kPatience);
        over = true;
        over.notify_all();
        ASSERT_FALSE(left);
        EXPECT_EQ(left.error().code, ETIMEDOUT);
        for (const auto *said : {"another member's farewell", "rank 1 hasn't asked"})
            EXPECT_NE(left.error().message().find(said), std::string::npos)
                << left.error().message();
    });
}

// It isn't added as if it were a vector of zeros.
TEST(CollectiveLeave, WhoLeavesBeforeTheOthersIsNoSum) {
    const Job job(2, 0, {.timeout = kPatience});
    std::atomic<unsigned> told = 0;
    job.all([&](Collective &collective, std::uint32_t rank) {
        auto vector = ones(8);
        ASSERT_TRUE(collective.allreduce(std::span(vector)));
        const auto told_of = [&](const Error &error) {
            told += error.message().find("leaves, but") != std::string::npos ? 1 : 0;
        };
        if (rank == 0) {
            if (const auto left = collective.leave(); !left)
                told_of(left.error());
        } else if (const auto report = collective.allreduce(std::span(vector)); !report) {
            told_of(report.error());
        }
    });
    EXPECT_EQ(told, 1U) << "whose chunk came second";
}

TEST(CollectiveLeave, DoesNotClaimToKnowWhatAThresholdHides) {
    Job job(2);
    job.server.set_threshold(1);
    job.all([](Collective &collective, std::uint32_t) {
        ASSERT_TRUE(collective.join());
        const auto left = collective.leave();
        ASSERT_TRUE(left) << left.error().message();
        EXPECT_FALSE(*left);
    });
}

TEST(CollectiveLeave, OfAJobThatNeverBeganIsDoneAtOnce) {
    const Job job(2);
    Collective collective = job.worker(0);
    EXPECT_TRUE(collective.leave().value());
}

} // namespace
} // namespace olaf::test::collective_leave_test
