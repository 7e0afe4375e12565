// SPDX-License-Identifier: BSD-2-Clause
// How elements become lanes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include <olaf/encoder.hpp>
#include <olaf/packing.hpp>

namespace olaf::test::packing_test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kMax = std::numeric_limits<float>::max();

// The definition in docs/protocol.md, element by element, in plain 64-bit arithmetic.
std::vector<std::uint64_t> pack_by_definition(Format format, const std::vector<std::int64_t> &e) {
    const unsigned per_lane = elements_per_lane(format);
    std::vector<std::uint64_t> lanes(lanes_for(format, e.size()));
    for (std::size_t i = 0; i < e.size(); i++)
        lanes[i / per_lane] += static_cast<std::uint64_t>(e[i]) << (64 / per_lane * (i % per_lane));
    return lanes;
}

std::vector<std::uint64_t> pack(const Packing &packing, const std::vector<float> &gradient) {
    std::vector<std::uint64_t> lanes(lanes_for(packing.format, gradient.size()), ~0ULL);
    EXPECT_TRUE(olaf::pack(packing, gradient, lanes));
    return lanes;
}

std::vector<float> unpack(Format format, double factor, const std::vector<std::uint64_t> &lanes,
                          std::size_t elements) {
    std::vector<float> out(elements, kNan);
    EXPECT_TRUE(olaf::unpack(format, factor, lanes, out));
    return out;
}

class PackingTest : public testing::TestWithParam<Format> {};
INSTANTIATE_TEST_SUITE_P(Formats, PackingTest,
                         testing::Values(Format::i32x2, Format::i16x4, Format::i64x1),
                         [](const auto &info) { return std::string(name(info.param)); });

TEST_P(PackingTest, RoundsToNearestTiesToEven) {
    const std::vector<float> gradient = {0.5F,  1.5F,        2.5F,   -0.5F,
                                         -1.5F, 0.49999997F, -2.51F, -0.0F};
    const std::vector<std::int64_t> steps = {0, 2, 2, 0, -2, 0, -3, 0};
    EXPECT_EQ(pack({.format = GetParam(), .scale = 1.0}, gradient),
              pack_by_definition(GetParam(), steps));
}

TEST_P(PackingTest, ClipsAndCountsWhatIsOutOfRange) {
    const Packing packing = {.format = GetParam(), .scale = 1.0, .max_count = 16};
    const double limit = clip_limit(packing);
    const std::vector<float> gradient = {kMax, -kMax, kInf, -kInf, kNan, 1.0F, -kNan};
    std::vector<std::uint64_t> lanes(lanes_for(packing.format, gradient.size()));
    const auto report = pack(packing, gradient, lanes);
    ASSERT_TRUE(report);
    EXPECT_EQ(report->clipped, 4U);
    EXPECT_EQ(report->nans, 2U);
    const auto most = static_cast<std::int64_t>(limit);
    EXPECT_EQ(lanes, pack_by_definition(GetParam(), {most, -most, most, -most, 0, 1, 0}));
}

TEST_P(PackingTest, MaxCountUpdatesAtTheLimitSumWithoutOverflow) {
    for (const std::uint32_t max_count : {1U, 2U, 3U, 256U, 32767U}) {
        const Packing packing = {.format = GetParam(), .scale = 1.0, .max_count = max_count};
        // Every mix of signs in a lane: borrows between elements at their worst.
        for (unsigned signs = 0; signs < 16; signs++) {
            std::vector<float> gradient(4);
            for (unsigned i = 0; i < 4; i++)
                gradient[i] = (signs >> i & 1) != 0 ? -kInf : kInf;
            std::vector<std::uint64_t> sum(lanes_for(packing.format, 4));
            const auto one = pack(packing, gradient);
            for (std::size_t lane = 0; lane < sum.size(); lane++)
                sum[lane] = one[lane] * max_count; // added so many times, mod 2^64
            const auto mean = unpack(GetParam(), 1.0 / max_count, sum, 4);
            const auto limit = static_cast<float>(clip_limit(packing));
            for (unsigned i = 0; i < 4; i++)
                ASSERT_FLOAT_EQ(mean[i], (signs >> i & 1) != 0 ? -limit : limit)
                    << "max_count " << max_count << ", signs " << signs << ", element " << i;
        }
    }
}

// At most one lane, odd counts, more than one block of the implementation.
TEST_P(PackingTest, SumsOfLanesAreThoseOfElementsAsDefined) {
    const Packing packing = {.format = GetParam(), .scale = 8.0, .max_count = 100};
    const auto limit = static_cast<int>(std::min(clip_limit(packing), 100000.0));
    std::mt19937 random(2);
    std::uniform_int_distribution<int> uniform(-limit, limit);
    for (const std::size_t elements : {1, 2, 3, 4, 5, 7, 8, 101, 511, 512, 513, 1030}) {
        std::vector<std::int64_t> expected(elements);
        std::vector<std::uint64_t> sum(lanes_for(packing.format, elements));
        for (unsigned update = 0; update < packing.max_count; update++) {
            std::vector<float> gradient(elements);
            for (std::size_t i = 0; i < elements; i++) {
                const int step = uniform(random);
                gradient[i] = static_cast<float>(step) / 8.0F;
                expected[i] += step;
            }
            const auto lanes = pack(packing, gradient);
            for (std::size_t lane = 0; lane < sum.size(); lane++)
                sum[lane] += lanes[lane];
        }
        EXPECT_EQ(sum, pack_by_definition(GetParam(), expected)) << elements << " elements";
        const auto result = unpack(GetParam(), 1.0, sum, elements);
        for (std::size_t i = 0; i < elements; i++)
            ASSERT_EQ(result[i], static_cast<float>(expected[i])) << i;
    }
}

TEST(Packing, LimitsAreThoseOfTheProtocol) {
    const auto limit = [](Format format, std::uint32_t max_count) {
        return clip_limit({.format = format, .max_count = max_count});
    };
    EXPECT_EQ(limit(Format::i32x2, 256), 8388607.0);
    EXPECT_EQ(limit(Format::i16x4, 256), 127.0);
    EXPECT_EQ(limit(Format::i16x4, 1), 32767.0);
    EXPECT_EQ(limit(Format::i64x1, 65535), 140739635871744.0);
    EXPECT_LT(limit(Format::i64x1, 1), 0x1p63); // 2^63 itself would overflow
}

TEST(Packing, RefusesWhatCannotWork) {
    EXPECT_FALSE(validate({.format = Format::f32x2}));
    EXPECT_FALSE(validate({.scale = 0.0}));
    EXPECT_FALSE(validate({.scale = kNan}));
    EXPECT_FALSE(validate({.scale = kInf}));
    EXPECT_FALSE(validate({.max_count = 0}));
    EXPECT_FALSE(validate({.max_count = 65536}));
    EXPECT_FALSE(validate({.format = Format::i16x4, .max_count = 32768}));
    EXPECT_TRUE(validate({.format = Format::i16x4, .max_count = 32767}));
    EXPECT_TRUE(validate({}));

    const std::vector<float> gradient(5);
    std::vector<std::uint64_t> lanes(2);
    EXPECT_FALSE(olaf::pack({}, gradient, lanes)) << "one lane short";
    std::vector<float> out(5);
    EXPECT_FALSE(olaf::unpack(Format::i32x2, 1.0, lanes, out));
}

TEST(Packing, WeightsAreCopiedBitByBit) {
    const std::vector<float> weights = {1.0F, -0.0F, kInf, 1e-45F, 3.25F};
    std::vector<std::uint64_t> lanes(3, ~0ULL);
    ASSERT_TRUE(pack_weights(weights, lanes));
    EXPECT_EQ(lanes[0], 0x80000000'3f800000ULL); // element 0 in the low half
    EXPECT_EQ(lanes[2], 0x00000000'40500000ULL); // padded with zero
    std::vector<float> result(5);
    ASSERT_TRUE(unpack_weights(lanes, result));
    EXPECT_EQ(result, weights);
    EXPECT_TRUE(std::signbit(result[1]));
}

Encoder encoder(const Packing &packing, const Rounding &rounding, std::size_t elements) {
    auto made = Encoder::make(packing, rounding, elements);
    EXPECT_TRUE(made);
    return std::move(*made);
}

// What the gradient is after packing, in steps.
std::vector<float> steps(Encoder &encoder, const Packing &packing,
                         const std::vector<float> &gradient) {
    std::vector<std::uint64_t> lanes(lanes_for(packing.format, gradient.size()));
    std::vector<float> out(gradient.size());
    EXPECT_TRUE(encoder.pack(0, gradient, lanes));
    EXPECT_TRUE(unpack(packing.format, 1, lanes, out));
    return out;
}

std::vector<float> random_gradient(std::size_t elements, float largest) {
    std::mt19937 random(7);
    std::uniform_real_distribution<float> uniform(-largest, largest);
    std::vector<float> gradient(elements);
    std::ranges::generate(gradient, [&] { return uniform(random); });
    return gradient;
}

class EncoderTest : public testing::TestWithParam<Format> {
  protected:
    Packing packing{.format = GetParam(), .scale = 8, .max_count = 16};
};
INSTANTIATE_TEST_SUITE_P(Formats, EncoderTest, testing::Values(Format::i32x2, Format::i16x4),
                         [](const auto &info) { return std::string(name(info.param)); });

TEST_P(EncoderTest, RoundsToNearestAsPackDoesUnlessAskedOtherwise) {
    const auto gradient = random_gradient(1030, 3);
    std::vector<std::uint64_t> plain(lanes_for(GetParam(), 1030)), encoded(plain.size());
    ASSERT_TRUE(pack(packing, gradient, plain));
    auto nearest = encoder(packing, {}, 1030);
    ASSERT_TRUE(nearest.pack(0, gradient, encoded));
    EXPECT_EQ(encoded, plain);
    EXPECT_TRUE(nearest.residual().empty());
}

// Each element takes one of the two whole numbers beside it, and the mean of n draws is within
// five standard deviations, at most 1 / (2 sqrt n), of the gradient. The seed is fixed. Whole steps stay as they
// are, and so does what is clipped.
TEST_P(EncoderTest, StochasticRoundingIsUnbiased) {
    constexpr unsigned draws = 4000, elements = 517;
    auto gradient = random_gradient(elements, 1.5F);
    const auto most = static_cast<float>(clip_limit(packing));
    std::ranges::copy(std::initializer_list<float>{0, -0.0F, 0.125F, -0.25F, 3, -7.125F, most, -most},
                      gradient.begin());
    std::vector<double> exact(elements), sum(elements);
    std::ranges::transform(gradient, exact.begin(), [&](float element) {
        return std::clamp(element * static_cast<float>(packing.scale), -most, most);
    });
    auto stochastic = encoder(packing, {.stochastic = true, .seed = 3}, elements);
    for (unsigned draw = 0; draw < draws; draw++) {
        const auto out = steps(stochastic, packing, gradient);
        for (unsigned i = 0; i < elements; i++) {
            ASSERT_TRUE(out[i] == std::floor(exact[i]) || out[i] == std::ceil(exact[i])) << i;
            sum[i] += out[i];
        }
    }
    double all = 0;
    for (unsigned i = 0; i < elements; i++) {
        const double error = sum[i] / draws - exact[i];
        EXPECT_LT(std::abs(error), 5 * 0.5 / std::sqrt(draws)) << i;
        all += error / elements;
    }
    EXPECT_LT(std::abs(all), 5 * 0.5 / std::sqrt(draws * elements)) << "over all elements";
}

TEST_P(EncoderTest, StochasticRoundingIsIndependentBetweenElementsAndUpdates) {
    constexpr unsigned elements = 4096;
    const std::vector<float> gradient(elements, 0.5F / 8); // half a step: a coin
    auto stochastic = encoder(packing, {.stochastic = true, .seed = 1}, elements);
    const auto first = steps(stochastic, packing, gradient);
    const auto second = steps(stochastic, packing, gradient);
    const auto same = [&](const auto &a, const auto &b, std::size_t by) {
        unsigned count = 0;
        for (std::size_t i = by; i < elements; i++)
            count += a[i] == b[i - by] ? 1 : 0;
        return count;
    };
    constexpr unsigned spread = 5 * 32; // five deviations of 4096 coins
    for (const std::size_t by : {1, 2, 3, 4, 8, 16, 64, 512})
        EXPECT_NEAR(same(first, first, by), (elements - by) / 2.0, spread) << by;
    for (const std::size_t by : {0, 1, 512})
        EXPECT_NEAR(same(first, second, by), (elements - by) / 2.0, spread) << by;
}

TEST_P(EncoderTest, RepeatsBySeed) {
    const auto gradient = random_gradient(600, 1);
    auto first = encoder(packing, {.stochastic = true, .seed = 9}, 600);
    auto second = encoder(packing, {.stochastic = true, .seed = 9}, 600);
    auto other = encoder(packing, {.stochastic = true, .seed = 10}, 600);
    const auto out = steps(first, packing, gradient);
    EXPECT_EQ(out, steps(second, packing, gradient));
    EXPECT_NE(out, steps(other, packing, gradient));
    EXPECT_NE(out, steps(first, packing, gradient)) << "the next update's";
}

// Over any number of updates the sum of what was sent is off by the residual, and by no more.
void expect_bounded_residual(const Packing &packing, const Rounding &rounding, double bound) {
    constexpr unsigned updates = 300, elements = 600;
    auto gradient = random_gradient(elements, 0.3F);
    gradient[0] = 1e-3F; // far below half a step, and so never sent without feedback
    auto feeding = encoder(packing, rounding, elements);
    std::vector<double> sent(elements);
    for (unsigned update = 1; update <= updates; update++) {
        const auto out = steps(feeding, packing, gradient);
        for (unsigned i = 0; i < elements; i++) {
            sent[i] += out[i];
            ASSERT_LE(std::abs(feeding.residual()[i]) * packing.scale, bound) << i;
            const double error = double{gradient[i]} * update * packing.scale - sent[i];
            ASSERT_NEAR(error, feeding.residual()[i] * packing.scale, 1e-4) << i;
        }
    }
    EXPECT_GT(sent[0], 0);
}

TEST_P(EncoderTest, ErrorFeedbackLosesNoMoreThanHalfAStepInAll) {
    expect_bounded_residual(packing, {.error_feedback = true}, 0.5);
}

TEST_P(EncoderTest, StochasticErrorFeedbackLosesNoMoreThanAStepInAll) {
    expect_bounded_residual(packing, {.stochastic = true, .error_feedback = true, .seed = 2}, 1);
}

TEST_P(EncoderTest, ErrorFeedbackKeepsNothingOfWhatIsClippedOrNoNumber) {
    const float inf = std::numeric_limits<float>::infinity();
    const std::vector<float> gradient = {std::numeric_limits<float>::max(), inf, -inf,
                                         std::numeric_limits<float>::quiet_NaN()};
    auto feeding = encoder(packing, {.error_feedback = true}, gradient.size());
    std::vector<std::uint64_t> lanes(lanes_for(GetParam(), gradient.size()));
    const auto report = feeding.pack(0, gradient, lanes);
    ASSERT_TRUE(report);
    EXPECT_EQ(report->clipped, 3U);
    EXPECT_EQ(report->nans, 1U);
    EXPECT_TRUE(std::ranges::all_of(feeding.residual(), [](float r) { return r == 0; }));
}

TEST_P(EncoderTest, KeepsEachSegmentsResidualApart) {
    auto feeding = encoder(packing, {.error_feedback = true}, 8);
    std::vector<std::uint64_t> lanes(lanes_for(GetParam(), 4));
    ASSERT_TRUE(feeding.pack(4, std::vector<float>(4, 0.05F), lanes));
    EXPECT_EQ(feeding.residual()[3], 0);
    EXPECT_NE(feeding.residual()[4], 0);
    EXPECT_FALSE(feeding.pack(5, std::vector<float>(4, 0.05F), lanes)) << "beyond the model";
    EXPECT_FALSE(feeding.pack(9, {}, {}));
}

TEST(Encoder, RefusesWhatItCannotRound) {
    EXPECT_FALSE(Encoder::make({.format = Format::f32x2}, {}, 1));
    EXPECT_FALSE(Encoder::make({.format = Format::i64x1}, {.stochastic = true}, 1));
    EXPECT_TRUE(Encoder::make({.format = Format::i64x1}, {}, 1));
}

TEST(FittingScale, IsTheLargestPowerOfTwoThatLeavesTheHeadroom) {
    for (const Format format : {Format::i32x2, Format::i16x4})
        for (const std::uint32_t max_count : {1U, 32U, 100U})
            for (const double largest : {1e-6, 0.5, 1.0, 37.0}) {
                const Packing packing = {.format = format, .max_count = max_count};
                const auto scale = fitting_scale(packing, largest, 2);
                ASSERT_TRUE(scale);
                EXPECT_EQ(std::exp2(std::round(std::log2(*scale))), *scale);
                EXPECT_LE(*scale * largest * 2, clip_limit(packing));
                EXPECT_GT(2 * *scale * largest * 2, clip_limit(packing));
            }
}

TEST(FittingScale, RefusesWhatHasNone) {
    const Packing packing;
    for (const double largest : std::initializer_list<double>{0, -1, INFINITY, NAN, 1e-310})
        EXPECT_FALSE(fitting_scale(packing, largest)) << largest;
    EXPECT_FALSE(fitting_scale(packing, 1, 0.5));
    EXPECT_FALSE(fitting_scale({.format = Format::f32x2}, 1));
}

} // namespace
} // namespace olaf::test::packing_test
