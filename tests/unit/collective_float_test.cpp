// SPDX-License-Identifier: BSD-2-Clause
// How exact sums of floats are: against sums in binary64, for what gradients may hold.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "collective_test.hpp"

namespace {

using namespace olaf;
using namespace olaf::test;

constexpr std::uint32_t kWorkers = 3;
constexpr std::size_t kPiece = 16; // elements of 8 lanes

using Make = std::function<float(std::mt19937 &, std::size_t element, int round)>;

// What each worker gives, and what came of it.
struct Sums {
    std::vector<std::vector<float>> given, sums;
};

std::vector<Sums> sum(const Make &make, std::size_t elements, int rounds) {
    std::vector<Sums> all(static_cast<std::size_t>(rounds));
    for (int round = 0; round < rounds; round++)
        for (std::uint32_t rank = 0; rank < kWorkers; rank++) {
            std::mt19937 random(static_cast<unsigned>(round) * 100 + rank);
            std::vector<float> vector(elements);
            for (std::size_t i = 0; i < elements; i++)
                vector[i] = make(random, i, round);
            all[static_cast<std::size_t>(round)].given.push_back(vector);
        }
    for (Sums &each : all)
        each.sums = each.given;
    const Job job(kWorkers);
    job.all([&](Collective &collective, std::uint32_t rank) {
        for (Sums &each : all) {
            const auto report = collective.allreduce(std::span(each.sums[rank]));
            ASSERT_TRUE(report) << report.error().message();
            EXPECT_EQ(report->clipped, 0U);
        }
    });
    return all;
}

double uniform(std::mt19937 &random) {
    return std::uniform_real_distribution<>(-1, 1)(random);
}

// All get the same bits, within the bound that collective.hpp promises; which is below that of
// float32's own additions.
void expect_exact(const std::vector<Sums> &rounds) {
    for (const Sums &round : rounds) {
        const std::size_t elements = round.sums[0].size();
        for (std::uint32_t rank = 1; rank < kWorkers; rank++)
            EXPECT_EQ(std::memcmp(round.sums[0].data(), round.sums[rank].data(),
                                  elements * sizeof(float)),
                      0);
        for (std::size_t i = 0; i < elements; i++) {
            double exact = 0, largest = 0;
            const std::size_t piece = i / kPiece * kPiece;
            for (const std::vector<float> &given : round.given) {
                exact += given[i];
                for (std::size_t j = piece; j < std::min(piece + kPiece, elements); j++)
                    largest = std::max(largest, std::abs(static_cast<double>(given[j])));
            }
            const double bound = kWorkers * std::ldexp(largest, -28);
            // The result itself is a float32.
            const double rounding = std::abs(exact) * 0x1p-24 + 0x1p-150;
            ASSERT_NEAR(round.sums[0][i], exact, bound + rounding) << "element " << i;
            ASSERT_LE(bound, (kWorkers - 1) * 0x1p-24 * kWorkers * largest);
        }
    }
}

TEST(CollectiveFloat, OrdinaryGradients) {
    expect_exact(sum([](auto &random, auto, int) { return uniform(random) * 1e-3; }, 1000, 3));
}

TEST(CollectiveFloat, ZerosStayZeros) {
    for (const Sums &round : sum([](auto &, auto, int) { return 0.0F; }, 100, 1))
        EXPECT_EQ(round.sums[0], std::vector<float>(100, 0.0F));
}

TEST(CollectiveFloat, DenormalsAreExact) {
    const auto rounds = sum(
        [](auto &random, auto, int) {
            return static_cast<float>(static_cast<int>(random() % 2001) - 1000) * 0x1p-149F;
        },
        100, 1);
    for (std::size_t i = 0; i < 100; i++) {
        const auto &given = rounds[0].given;
        EXPECT_EQ(rounds[0].sums[0][i], given[0][i] + given[1][i] + given[2][i]);
    }
}

TEST(CollectiveFloat, VeryDifferentSizesInOneChunk) {
    expect_exact(sum(
        [](auto &random, auto i, int) {
            return static_cast<float>(uniform(random) *
                                      std::pow(10, static_cast<double>(i % 61) - 30));
        },
        610, 2));
}

TEST(CollectiveFloat, GrowingAThousandfoldFromRoundToRound) {
    expect_exact(sum(
        [](auto &random, auto, int round) {
            return static_cast<float>(uniform(random) * std::pow(1000, round - 8));
        },
        333, 16));
}

TEST(CollectiveFloat, TheLargestOverflowAsFloatsDo) {
    const auto rounds =
        sum([](auto &, auto, int) { return std::numeric_limits<float>::max(); }, 9, 1);
    EXPECT_EQ(rounds[0].sums[0], std::vector<float>(9, std::numeric_limits<float>::infinity()));
}

TEST(CollectiveFloat, WhatIsNotFiniteShows) {
    for (const float bad :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
        const Job job(2);
        job.all([&](Collective &collective, std::uint32_t rank) {
            std::vector<float> vector(5 * kPiece, 1.0F);
            if (rank == 1)
                vector[kPiece] = bad;
            const auto report = collective.allreduce(std::span(vector));
            ASSERT_TRUE(report);
            EXPECT_EQ(report->not_finite, kPiece);
            for (std::size_t i = 0; i < vector.size(); i++)
                EXPECT_TRUE(i / kPiece == 1 ? std::isnan(vector[i]) : vector[i] == 2.0F) << i;
            std::ranges::fill(vector, 1.0F);
            ASSERT_TRUE(collective.allreduce(std::span(vector)));
            EXPECT_EQ(vector, std::vector<float>(vector.size(), 2.0F)) << "it doesn't stay";
        });
    }
}

} // namespace
