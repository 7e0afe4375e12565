// SPDX-License-Identifier: BSD-2-Clause
// How exact sums of floats are, and what short vectors of them send.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "round_server.hpp"

namespace olaf::test::collective_float_test {
namespace {

// How exact sums of floats are: against sums in binary64, for what gradients may hold.

constexpr std::uint32_t kWorkers = 3;
const unsigned kGuessBits = CollectiveOptions{}.guess_bits;
constexpr int kFloatBits = 24; // of a float32's significand

using Make = std::function<float(std::mt19937 &, std::size_t element, int round)>;

// What each worker gives, and what came of it.
struct Sums {
    std::vector<std::vector<float>> given, sums;
};

// Elements of 8 lanes, one of which says the guess where there are few.
std::size_t piece_of(std::size_t elements) {
    return elements <= 128 * 16 ? 14 : 16;
}

std::vector<Sums> sum(const Make &make, std::size_t elements, int rounds,
                      std::uint32_t workers = kWorkers, unsigned guess_bits = kGuessBits) {
    std::vector<Sums> all(static_cast<std::size_t>(rounds));
    for (int round = 0; round < rounds; round++)
        for (std::uint32_t rank = 0; rank < workers; rank++) {
            std::mt19937 random(static_cast<unsigned>(round) * 100 + rank);
            std::vector<float> vector(elements);
            for (std::size_t i = 0; i < elements; i++)
                vector[i] = make(random, i, round);
            all[static_cast<std::size_t>(round)].given.push_back(vector);
        }
    for (Sums &each : all)
        each.sums = each.given;
    const Job job(workers, 0, {.guess_bits = guess_bits});
    job.all([&](Collective &collective, std::uint32_t rank) {
        for (Sums &each : all) {
            const auto report = sum_of(collective, each.sums[rank]);
            EXPECT_EQ(report.left_out, 0U);
        }
    });
    return all;
}

double uniform(std::mt19937 &random) {
    return std::uniform_real_distribution<>(-1, 1)(random);
}

// One element: what each worker gives, and the sums of it.
struct Element {
    float largest; ///< of the chunk, at any worker
    float least;   ///< of those that are summed, without their signs
    double exact;
    float by_float32; ///< by float32's own additions
    float by_olaf;
};

std::vector<Element> elements_of(const Sums &round) {
    std::vector<Element> all;
    const std::size_t elements = round.given[0].size(), each = piece_of(elements);
    for (std::size_t i = 0; i < elements; i++) {
        Element one{0, std::numeric_limits<float>::max(), 0, 0, round.sums[0][i]};
        const std::size_t piece = i / each * each;
        for (const std::vector<float> &given : round.given) {
            one.exact += given[i];
            one.by_float32 += given[i];
            one.least = std::min(one.least, std::abs(given[i]));
            for (std::size_t j = piece; j < std::min(piece + each, elements); j++)
                one.largest = std::max(one.largest, std::abs(given[j]));
        }
        all.push_back(one);
    }
    return all;
}

// What collective.hpp promises. A guess leaves a float32's bits.
int bits_of(std::size_t workers, unsigned guess_bits) {
    const int bits = 30 - static_cast<int>(std::bit_width(workers - 1));
    return std::max(bits - static_cast<int>(guess_bits), std::min(bits, kFloatBits));
}

// All get the same bits, within the bound that collective.hpp promises.
void expect_within(const std::vector<Sums> &rounds, unsigned guess_bits) {
    for (const Sums &round : rounds) {
        const std::size_t workers = round.given.size();
        for (std::size_t rank = 1; rank < workers; rank++)
            EXPECT_EQ(std::memcmp(round.sums[0].data(), round.sums[rank].data(),
                                  round.sums[0].size() * sizeof(float)),
                      0);
        for (const Element &one : elements_of(round)) {
            const double bound = static_cast<double>(workers) *
                                 std::ldexp(one.largest, -bits_of(workers, guess_bits));
            // The result itself is a float32.
            const double rounding = std::abs(one.exact) * 0x1p-24 + 0x1p-150;
            ASSERT_NEAR(one.by_olaf, one.exact, bound + rounding);
        }
    }
}

// With guesses and without.
void expect_exact(const Make &make, std::size_t elements, int rounds) {
    for (const unsigned guess_bits : {0U, kGuessBits})
        expect_within(sum(make, elements, rounds, kWorkers, guess_bits), guess_bits);
}

TEST(CollectiveFloat, OrdinaryGradients) {
    expect_exact([](auto &random, auto, int) { return uniform(random) * 1e-3; }, 1000, 3);
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
    expect_exact(
        [](auto &random, auto i, int) {
            return static_cast<float>(uniform(random) *
                                      std::pow(10, static_cast<double>(i % 61) - 30));
        },
        610, 2);
}

TEST(CollectiveFloat, GrowingAThousandfoldFromRoundToRound) {
    expect_exact(
        [](auto &random, auto, int round) {
            return static_cast<float>(uniform(random) * std::pow(1000, round - 8));
        },
        333, 16);
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
            constexpr std::size_t kPiece = 14;
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

// Of float32's own additions and Olaf's, which is how far from the sum in binary64, in root mean
// square?
double error_by_float32s(const std::vector<Element> &elements) {
    double by_olaf = 0, by_float32 = 0;
    for (const Element &one : elements) {
        by_olaf += std::pow(one.by_olaf - one.exact, 2);
        by_float32 += std::pow(one.by_float32 - one.exact, 2);
    }
    return std::sqrt(by_olaf / by_float32);
}

// Between a half and a whole, of either sign.
double as_large_as_any(std::mt19937 &random) {
    const double size = std::uniform_real_distribution<>(0.5, 1)(random);
    return (random() & 1) != 0 ? size : -size;
}

class CollectiveFloatError : public testing::TestWithParam<std::uint32_t> {};

INSTANTIATE_TEST_SUITE_P(OfWorkers, CollectiveFloatError, testing::Values(2, 3, 4, 8, 16),
                         testing::PrintToStringParamName());

// Elements down to 2^-(bits - 24) of the chunk's largest lose no bit, so the sum is rounded once:
// no float32 is closer to it, whatever the order of float32's additions.
TEST_P(CollectiveFloatError, OfLargeElementsIsNoMoreThanFloat32s) {
    const int spread = bits_of(GetParam(), 0) - kFloatBits;
    const auto rounds = sum(
        [&](auto &random, auto, int round) {
            const int smaller = static_cast<int>(random() % static_cast<unsigned>(spread + 1));
            return static_cast<float>(std::ldexp(as_large_as_any(random), 4 * round - smaller));
        },
        1600, 2, GetParam());
    expect_within(rounds, 0);
    for (const Sums &round : rounds)
        for (const Element &one : elements_of(round))
            ASSERT_LE(std::abs(one.by_olaf - one.exact), std::abs(one.by_float32 - one.exact));
}

// A short vector, packed by a guess: elements down to 2^-(bits - guess_bits - 24) of the largest.
TEST_P(CollectiveFloatError, OfLargeElementsPackedByAGuessIsNoMoreThanFloat32s) {
    const int spread = bits_of(GetParam(), kGuessBits) - kFloatBits;
    const auto rounds = sum(
        [&](auto &random, auto, int) {
            const int smaller = static_cast<int>(random() % static_cast<unsigned>(spread + 1));
            return static_cast<float>(std::ldexp(as_large_as_any(random), -smaller));
        },
        1000, 3, GetParam());
    expect_within(rounds, kGuessBits);
    for (const Sums &round : rounds)
        for (const Element &one : elements_of(round))
            ASSERT_LE(std::abs(one.by_olaf - one.exact), std::abs(one.by_float32 - one.exact));
}

// As weights and gradients mostly are: small ones among them.
TEST_P(CollectiveFloatError, OfNormalElementsIsHardlyMoreThanFloat32s) {
    const auto rounds =
        sum([](auto &random, auto,
               int) { return static_cast<float>(std::normal_distribution<>()(random)); },
            8000, 1, GetParam());
    EXPECT_LE(error_by_float32s(elements_of(rounds[0])), GetParam() == 2 ? 1.01 : 1);
}

TEST_P(CollectiveFloatError, OfNormalElementsPackedByAGuessIsHardlyMoreThanFloat32s) {
    const auto rounds =
        sum([](auto &random, auto,
               int) { return static_cast<float>(std::normal_distribution<>()(random)); },
            1000, 9, GetParam());
    std::vector<Element> packed_by_a_guess;
    for (std::size_t round = 1; round < rounds.size(); round++)
        for (const Element &one : elements_of(rounds[round]))
            packed_by_a_guess.push_back(one);
    EXPECT_LE(error_by_float32s(packed_by_a_guess), GetParam() == 2 ? 1.01 : 1);
}

// As collective.hpp has it. Sums just above a power of two lose most by their own rounding, which
// is more than what is lost before.
TEST(CollectiveFloat, TheErrorOfASumIsWithinItsBoundWhichHasItsOwnRounding) {
    for (const unsigned guess_bits : {0U, kGuessBits})
        for (const std::uint32_t workers : {2U, 3U, 8U}) {
            const double size = std::bit_ceil(workers) / static_cast<double>(workers);
            const auto rounds = sum(
                [&](auto &random, auto, int) {
                    return static_cast<float>(size * (1 + 0x1p-10 * std::abs(uniform(random))));
                },
                1600, 3, workers, guess_bits);
            const double steps = workers * std::ldexp(1, -bits_of(workers, guess_bits));
            double most = 0;
            for (const Sums &round : rounds)
                for (const Element &one : elements_of(round)) {
                    const double error = std::abs(one.by_olaf - one.exact) / one.largest;
                    ASSERT_LE(error, steps + workers * 0x1p-24);
                    most = std::max(most, error);
                }
            EXPECT_GT(most, 0.99 * workers * 0x1p-24) << workers << " workers";
            EXPECT_GT(most, steps) << workers << " workers: more than before it is rounded";
        }
}

// docs/fixed-point.md has the figures. The largest is the first of each chunk.
TEST(CollectiveFloat, ElementsOf256thOfTheLargestLoseAsMuchMoreAsIsDocumented) {
    const auto rounds = sum(
        [](auto &random, auto i, int) {
            return static_cast<float>(i % 16 == 0 ? 0.99 : as_large_as_any(random) / 256);
        },
        8000, 1, 4);
    auto small = elements_of(rounds[0]);
    std::erase_if(small, [](const Element &one) { return one.least > 0.5; });
    ASSERT_EQ(small.size(), 7500U);
    EXPECT_NEAR(error_by_float32s(small), 9, 1);
}

// Short vectors of floats, whose data goes along with their exponents by a guess.

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
    const auto report = sum_of(collective, vector);
    for (std::size_t i = 0; i < vector.size(); i++)
        EXPECT_NEAR(vector[i], exact[i], bound * size + std::abs(exact[i]) * 0x1p-24)
            << "step " << step << ", element " << i;
    EXPECT_EQ(report.left_out, 0U);
    return report;
}

constexpr double kExact = kWorkers * 0x1p-28, kGuessed = kWorkers * 0x1p-26;

TEST(CollectiveGuess, TheSecondVectorOfALengthTakesHalfTheMessages) {
    const Job job(kWorkers);
    job.all([](Collective &collective, std::uint32_t rank) {
        ASSERT_TRUE(collective.start());
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
        ASSERT_TRUE(collective.start());
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
        ASSERT_TRUE(collective.start());
        for (unsigned step = 0; step < 4; step++)
            EXPECT_EQ(sum(collective, rank, step, 1e-3, kExact).spared, 0U);
    });
}

TEST(CollectiveGuess, WhoHasSeenNoVectorGuessesNothingAndAllAgree) {
    const Job job(kWorkers);
    job.all([&](Collective &first, std::uint32_t rank) {
        ASSERT_TRUE(first.start());
        for (unsigned step = 0; step < 2; step++)
            static_cast<void>(sum(first, rank, step, 1e-3, kGuessed));
        std::optional<Collective> second;
        if (rank == 0)
            second = job.worker(rank);
        Collective &collective = second ? *second : first;
        ASSERT_TRUE(collective.start());
        EXPECT_EQ(sum(collective, rank, 2, 1e-3, kExact).spared, 0U) << "two guess, one doesn't";
        EXPECT_EQ(sum(collective, rank, 3, 1e-3, kGuessed).spared, kPieces);
    });
}

TEST(CollectiveGuess, ZerosAndWhatIsNotFiniteAreSummedAtOnce) {
    const Job job(2);
    job.all([&](Collective &collective, std::uint32_t rank) {
        ASSERT_TRUE(collective.start());
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

TEST(CollectiveGuess, AMeanIsOfThoseInTheSum) {
    const Job job(2);
    job.all([](Collective &collective, std::uint32_t rank) {
        for (int step = 0; step < 2; step++) {
            std::vector<float> vector(kElements, static_cast<float>(2 * rank) + 1);
            const auto report = sum_of(collective, vector, Combine::mean);
            EXPECT_EQ(report.spared, step == 0 ? 0U : kPieces);
            EXPECT_EQ(vector, std::vector<float>(kElements, 2));
        }
    });
}

} // namespace
} // namespace olaf::test::collective_float_test
