// SPDX-License-Identifier: BSD-2-Clause
// Short vectors of floats, whose data goes along with their exponents by a guess.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "collective_test.hpp"

namespace olaf::test::collective_guess_test {
namespace {

using namespace olaf;
using namespace olaf::test;

constexpr std::uint32_t kWorkers = 3;
constexpr std::size_t kPiece = 14; // elements of 8 lanes, of which one says the guess
constexpr std::uint32_t kPieces = 5;
constexpr std::size_t kElements = kPiece * kPieces;

std::vector<float> part_of(std::uint32_t rank, unsigned step, double size) {
    std::mt19937 random(step * 100 + rank);
    std::vector<float> part(kElements);
    for (std::size_t i = 0; i < part.size(); i++)
        part[i] = static_cast<float>(size * std::uniform_real_distribution<>(-1, 1)(random));
    for (std::size_t piece = 0; piece < kPieces; piece++)
        part[piece * kPiece] = static_cast<float>(size); // the largest
    return part;
}

// Sums a step's vectors; every element is right but for `bits` below its largest.
SumReport sum(Collective &collective, std::uint32_t rank, unsigned step, double size,
              double bound) {
    std::vector<double> exact(kElements);
    for (std::uint32_t other = 0; other < kWorkers; other++) {
        const auto part = part_of(other, step, size);
        for (std::size_t i = 0; i < part.size(); i++)
            exact[i] += part[i];
    }
    auto vector = part_of(rank, step, size);
    const auto report = collective.allreduce(std::span(vector));
    EXPECT_TRUE(report) << report.error().message();
    if (!report)
        return {};
    for (std::size_t i = 0; i < vector.size(); i++)
        EXPECT_NEAR(vector[i], exact[i], bound * size + std::abs(exact[i]) * 0x1p-24)
            << "step " << step << ", element " << i;
    EXPECT_EQ(report->clipped, 0U);
    return *report;
}

constexpr double kExact = kWorkers * 0x1p-28, kGuessed = kWorkers * 0x1p-26;

TEST(CollectiveGuess, TheSecondVectorOfALengthTakesHalfTheMessages) {
    const Job job(kWorkers);
    job.all([](Collective &collective, std::uint32_t rank) {
        ASSERT_TRUE(collective.join());
        const auto first = sum(collective, rank, 0, 1e-3, kExact);
        EXPECT_EQ(first.chunks, 2 * kPieces);
        EXPECT_EQ(first.spared, 0U);
        for (unsigned step = 1; step < 6; step++) {
            const auto next = sum(collective, rank, step, 1e-3, kGuessed);
            EXPECT_EQ(next.chunks, kPieces);
            EXPECT_EQ(next.spared, kPieces);
        }
        EXPECT_EQ(collective.stats().spared, 5 * kPieces);
        EXPECT_EQ(collective.stats().sent, 7 * kPieces);
    });
}

// Twice as large, or half as large, is within the guess; more is summed as if there were none.
TEST(CollectiveGuess, WhatGrowsOrShrinksByMoreIsPackedByItsExponent) {
    const Job job(kWorkers);
    job.all([](Collective &collective, std::uint32_t rank) {
        ASSERT_TRUE(collective.join());
        double size = 1e-3;
        static_cast<void>(sum(collective, rank, 0, size, kExact));
        unsigned step = 1;
        for (const double factor : {2.0, 0.5, 0.5, 1e6, 1e-9}) {
            size *= factor;
            const bool is_near = factor == 2 || factor == 0.5;
            const auto report = sum(collective, rank, step++, size, is_near ? kGuessed : kExact);
            EXPECT_EQ(report.spared, is_near ? kPieces : 0U) << factor;
            EXPECT_EQ(report.chunks + report.spared, 2 * kPieces);
        }
    });
}

TEST(CollectiveGuess, NoBitIsLostWhereNoneMayBe) {
    const Job job(kWorkers, 0, {.guess_bits = 0});
    job.all([](Collective &collective, std::uint32_t rank) {
        ASSERT_TRUE(collective.join());
        for (unsigned step = 0; step < 4; step++)
            EXPECT_EQ(sum(collective, rank, step, 1e-3, kExact).spared, 0U);
    });
}

TEST(CollectiveGuess, WhoHasSeenNoVectorGuessesNothingAndAllAgree) {
    const Job job(kWorkers);
    job.all([&](Collective &first, std::uint32_t rank) {
        ASSERT_TRUE(first.join());
        for (unsigned step = 0; step < 2; step++)
            static_cast<void>(sum(first, rank, step, 1e-3, kGuessed));
        std::optional<Collective> second;
        if (rank == 0)
            second = job.worker(rank);
        Collective &collective = second ? *second : first;
        ASSERT_TRUE(collective.join());
        EXPECT_EQ(sum(collective, rank, 2, 1e-3, kExact).spared, 0U) << "two guess, one doesn't";
        EXPECT_EQ(sum(collective, rank, 3, 1e-3, kGuessed).spared, kPieces);
    });
}

TEST(CollectiveGuess, ZerosAndWhatIsNotFiniteAreSummedAtOnce) {
    const Job job(2);
    job.all([&](Collective &collective, std::uint32_t rank) {
        ASSERT_TRUE(collective.join());
        const auto summed = [&](float all, float one) {
            std::vector<float> vector(kElements, all);
            if (rank == 1)
                vector[kPiece] = one;
            return std::pair(collective.allreduce(std::span(vector)).value(), vector);
        };
        EXPECT_EQ(summed(0, 0).first.spared, 0U);
        const auto [zeros, nothing] = summed(0, 0);
        EXPECT_EQ(zeros.spared, kPieces);
        EXPECT_EQ(nothing, std::vector<float>(kElements, 0));
        EXPECT_EQ(summed(1, 1).first.spared, 0U) << "zeros were guessed";
        const auto [report, vector] = summed(1, std::numeric_limits<float>::infinity());
        EXPECT_EQ(report.spared, kPieces);
        EXPECT_EQ(report.not_finite, kPiece);
        for (std::size_t i = 0; i < kElements; i++)
            EXPECT_TRUE(i / kPiece == 1 ? std::isnan(vector[i]) : vector[i] == 2.0F) << i;
        EXPECT_EQ(summed(1, 1).first.spared, kPieces - 1)
            << "there is nothing to guess that piece by";
        EXPECT_EQ(summed(1, 1).second, std::vector<float>(kElements, 2));
    });
}

TEST(CollectiveGuess, SumsAreRightWhereMessagesAreLostAndTheNodeForgets) {
    Job job(kWorkers, 0.1);
    std::atomic<unsigned> spared = 0;
    job.all([&](Collective &collective, std::uint32_t rank) {
        ASSERT_TRUE(collective.join());
        for (unsigned step = 0; step < 60; step++) {
            if (rank == 0 && step % 10 == 5)
                job.server.restart_after(7);
            const double size = step % 7 == 0 ? 1.0 : 1e-3;
            const auto report = sum(collective, rank, step, size, kGuessed);
            EXPECT_EQ(report.chunks + report.spared, 2 * kPieces);
            spared += report.spared;
        }
        ASSERT_TRUE(collective.leave());
    });
    EXPECT_GT(spared, kWorkers * kPieces * 30U);
}

TEST(CollectiveGuess, AMeanIsOfThoseInTheSum) {
    const Job job(2);
    job.all([](Collective &collective, std::uint32_t rank) {
        for (int step = 0; step < 2; step++) {
            std::vector<float> vector(kElements, static_cast<float>(2 * rank) + 1);
            const auto report = collective.allreduce(std::span(vector), Combine::mean);
            ASSERT_TRUE(report) << report.error().message();
            EXPECT_EQ(report->spared, step == 0 ? 0U : kPieces);
            EXPECT_EQ(vector, std::vector<float>(kElements, 2));
        }
    });
}

} // namespace
} // namespace olaf::test::collective_guess_test
