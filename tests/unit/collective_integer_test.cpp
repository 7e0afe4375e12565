// SPDX-License-Identifier: BSD-2-Clause
// Sums that don't fit are errors, and the same ones at all workers: of int32 beyond 32 bits, and of
// more workers than the members were told of.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "round_server.hpp"

namespace olaf::test::collective_integer_test {
namespace {

using Integers = std::vector<std::int32_t>;

constexpr std::int32_t kMost = std::numeric_limits<std::int32_t>::max();
constexpr std::int32_t kLeast = std::numeric_limits<std::int32_t>::min();
constexpr std::size_t kElements = 45; // of odd number, in several frames

/// How int32 travel: two a lane and a lane that checks them, or one a lane.
struct Shape {
    std::string name;
    CollectiveOptions options;
};

class CollectiveIntegers : public testing::TestWithParam<Shape> {};

INSTANTIATE_TEST_SUITE_P(Of, CollectiveIntegers,
                         testing::Values(Shape{"Pairs", {}},
                                         Shape{"PairsWithoutAChecksum", {.checksum = false}},
                                         Shape{"OneLane", {.lanes = 2}},
                                         Shape{"Wide", {.format = Format::i64x1}},
                                         Shape{"PairsOfTwoThreads", {.threads = 2}}),
                         [](const auto &info) { return info.param.name; });

/// What each worker is told where two sum: nothing if they get the sum, which is right then.
std::vector<std::string> told(const CollectiveOptions &options, const Integers &one,
                              const Integers &other) {
    const Job job(2, 0, options);
    std::vector<std::string> errors(2);
    job.all([&](Collective &collective, std::uint32_t rank) {
        ASSERT_TRUE(collective.start());
        Integers vector = rank == 0 ? one : other;
        const auto report = collective.allreduce(std::span(vector));
        if (!report) {
            errors[rank] = report.error().message();
            return;
        }
        for (std::size_t i = 0; i < vector.size(); i++)
            EXPECT_EQ(vector[i], std::int64_t{one[i]} + other[i]) << "element " << i;
    });
    return errors;
}

TEST_P(CollectiveIntegers, SumsAreExactToTheLastThatFits) {
    Integers one(kElements), other(kElements);
    for (std::size_t i = 0; i < kElements; i++) {
        one[i] = i % 3 == 0 ? kMost : i % 3 == 1 ? kLeast : kMost - 7;
        other[i] = i % 3 == 0 ? 0 : i % 3 == 1 ? 0 : 7;
    }
    EXPECT_EQ(told(GetParam().options, one, other), std::vector<std::string>(2));
}

TEST_P(CollectiveIntegers, ASumThatDoesNotFitIsTheSameErrorAtAll) {
    for (const std::size_t at : {std::size_t{0}, std::size_t{7}, kElements - 1})
        for (const std::int32_t large : {kMost, kLeast}) {
            Integers one(kElements, 10), other(kElements, 1);
            one[at] = large;
            other[at] = large > 0 ? 1 : -1;
            const auto errors = told(GetParam().options, one, other);
            EXPECT_NE(errors[0].find("a sum of int32 in round 0 doesn't fit into 32 bits"),
                      std::string::npos)
                << "element " << at << ": " << errors[0];
            EXPECT_EQ(errors[0], errors[1]);
        }
}

TEST_P(CollectiveIntegers, NoOverflowHidesAnother) {
    Integers opposite(kElements), by(kElements);
    opposite[1] = kMost, by[1] = 1;
    opposite[3] = kLeast, by[3] = -1;
    for (const std::string &error : told(GetParam().options, opposite, by))
        EXPECT_NE(error.find("doesn't fit"), std::string::npos) << error;
    std::mt19937 random(3);
    for (int turn = 0; turn < 20; turn++) {
        Integers one(kElements), other(kElements);
        for (std::size_t i = 0; i < kElements; i++)
            other[i] = one[i] = random() % 2 == 0 ? kMost : kLeast;
        for (const std::string &error : told(GetParam().options, one, other))
            EXPECT_NE(error.find("doesn't fit"), std::string::npos) << error;
    }
}

TEST(CollectiveInteger, BehindASumThatDoesNotFitTheNextOneIsRight) {
    const Job job(3);
    job.all([](Collective &collective, std::uint32_t) {
        for (std::int32_t round = 0; round < 4; round++) {
            Integers large(kElements, kMost), small(kElements, round);
            expect_fails(collective.allreduce(std::span(large)), "give int64, at every worker");
            sum_of(collective, small);
            EXPECT_EQ(small, Integers(kElements, 3 * round));
        }
        EXPECT_TRUE(collective.finish().value_or(false));
    });
}

// As for a job that was set for all of them, where each thinks that it is alone.
TEST(CollectiveCount, OfMoreWorkersThanWereSaidNoSumIsGiven) {
    for (const Format format : {Format::i32x2, Format::f32x2}) {
        Job job(4, 0, {.format = format, .checksum = format != Format::f32x2});
        job.options.workers = 1;
        job.all([](Collective &collective, std::uint32_t) {
            ASSERT_TRUE(collective.start());
            std::vector<float> vector(100, 1.9F);
            const auto report = collective.allreduce(std::span(vector));
            expect_fails(report, "contributions of 4 workers");
            expect_fails(report, "was told that there are 1");
            EXPECT_TRUE(std::ranges::all_of(vector, [](float each) { return std::isnan(each); }));
        });
    }
}

TEST(CollectiveCount, OfMoreWorkersThanWereSaidNoSumIsOverheard) {
    Job job(3);
    job.options.workers = 1;
    job.server.set_threshold(2);
    std::atomic<bool> enough = false;
    // The two who give stop behind the same vector: neither waits for the other one in vain.
    bool last = false;
    std::barrier both(2, [&]() noexcept { last = enough; });
    job.all([&](Collective &collective, std::uint32_t rank) {
        ASSERT_TRUE(collective.start());
        std::vector<float> vector(40, 1.0F);
        if (rank != 2) {
            for (both.arrive_and_wait(); !last; both.arrive_and_wait())
                EXPECT_FALSE(collective.allreduce(std::span(vector)));
            return;
        }
        collective.overhear(vector.size());
        while (collective.stats().unasked < 100) // of later rounds than the first
            ASSERT_TRUE(collective.poll());
        EXPECT_FALSE(collective.take_overheard(vector));
        enough = true;
    });
}

TEST(CollectiveCount, OfAsManyWorkersAsWereSaidIsNoError) {
    Job job(2);
    job.options.workers = 3; // one comes later
    job.all([](Collective &collective, std::uint32_t) {
        ASSERT_TRUE(collective.start());
        std::vector<float> vector(100, 1.5F);
        EXPECT_EQ(sum_of(collective, vector).least_count, 2U);
        EXPECT_EQ(vector, std::vector<float>(100, 3.0F));
    });
}

} // namespace
} // namespace olaf::test::collective_integer_test
