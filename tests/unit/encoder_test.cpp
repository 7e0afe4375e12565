// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <olaf/encoder.hpp>

namespace olaf::test::encoder_test {
namespace {

using olaf::Encoder;
using olaf::Format;
using olaf::Packing;
using olaf::Rounding;

Encoder encoder(const Packing &packing, const Rounding &rounding, std::size_t elements) {
    auto made = Encoder::make(packing, rounding, elements);
    EXPECT_TRUE(made);
    return std::move(*made);
}

// What the gradient is after packing, in steps.
std::vector<float> steps(Encoder &encoder, const Packing &packing,
                         const std::vector<float> &gradient) {
    std::vector<std::uint64_t> lanes(olaf::lanes_for(packing.format, gradient.size()));
    std::vector<float> out(gradient.size());
    EXPECT_TRUE(encoder.pack(0, gradient, lanes));
    EXPECT_TRUE(olaf::unpack(packing.format, 1, lanes, out));
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
                         [](const auto &info) { return std::string(olaf::name(info.param)); });

TEST_P(EncoderTest, RoundsToNearestAsPackDoesUnlessAskedOtherwise) {
    const auto gradient = random_gradient(1030, 3);
    std::vector<std::uint64_t> plain(olaf::lanes_for(GetParam(), 1030)), encoded(plain.size());
    ASSERT_TRUE(olaf::pack(packing, gradient, plain));
    auto nearest = encoder(packing, {}, 1030);
    ASSERT_TRUE(nearest.pack(0, gradient, encoded));
    EXPECT_EQ(encoded, plain);
    EXPECT_TRUE(nearest.residual().empty());
}

// Each element takes one of the two whole numbers beside it, and the mean of n draws is within
// five standard deviations, at most 1 / (2 sqrt n), of the gradient. The seed is fixed.
TEST_P(EncoderTest, StochasticRoundingIsUnbiased) {
    constexpr unsigned draws = 4000, elements = 517;
    const auto gradient = random_gradient(elements, 1.5F);
    auto stochastic = encoder(packing, {.stochastic = true, .seed = 3}, elements);
    std::vector<double> sum(elements);
    for (unsigned draw = 0; draw < draws; draw++) {
        const auto out = steps(stochastic, packing, gradient);
        for (unsigned i = 0; i < elements; i++) {
            const double exact = gradient[i] * packing.scale;
            ASSERT_TRUE(out[i] == std::floor(exact) || out[i] == std::ceil(exact)) << i;
            sum[i] += out[i];
        }
    }
    double all = 0;
    for (unsigned i = 0; i < elements; i++) {
        const double error = sum[i] / draws - gradient[i] * packing.scale;
        EXPECT_LT(std::abs(error), 5 * 0.5 / std::sqrt(draws)) << i;
        all += error / elements;
    }
    EXPECT_LT(std::abs(all), 5 * 0.5 / std::sqrt(draws * elements)) << "over all elements";
}

TEST_P(EncoderTest, StochasticRoundingLeavesWholeStepsAlone) {
    const auto most = static_cast<float>(olaf::clip_limit(packing) / packing.scale);
    const std::vector<float> gradient = {0, -0.0F, 0.125F, -0.25F, 3, -7.125F,
                                         // clipped
                                         2 * most, -2 * most};
    auto stochastic = encoder(packing, {.stochastic = true, .seed = 5}, gradient.size());
    const auto limit = static_cast<float>(olaf::clip_limit(packing));
    const std::vector<float> expected = {0, 0, 1, -2, 24, -57, limit, -limit};
    for (unsigned draw = 0; draw < 1000; draw++)
        ASSERT_EQ(steps(stochastic, packing, gradient), expected);
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
    std::vector<std::uint64_t> lanes(olaf::lanes_for(GetParam(), gradient.size()));
    const auto report = feeding.pack(0, gradient, lanes);
    ASSERT_TRUE(report);
    EXPECT_EQ(report->clipped, 3U);
    EXPECT_EQ(report->nans, 1U);
    EXPECT_TRUE(std::ranges::all_of(feeding.residual(), [](float r) { return r == 0; }));
}

TEST_P(EncoderTest, KeepsEachSegmentsResidualApart) {
    auto feeding = encoder(packing, {.error_feedback = true}, 8);
    std::vector<std::uint64_t> lanes(olaf::lanes_for(GetParam(), 4));
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
                const auto scale = olaf::fitting_scale(packing, largest, 2);
                ASSERT_TRUE(scale);
                EXPECT_EQ(std::exp2(std::round(std::log2(*scale))), *scale);
                EXPECT_LE(*scale * largest * 2, olaf::clip_limit(packing));
                EXPECT_GT(2 * *scale * largest * 2, olaf::clip_limit(packing));
            }
}

TEST(FittingScale, RefusesWhatHasNone) {
    const Packing packing;
    for (const double largest : std::initializer_list<double>{0, -1, INFINITY, NAN, 1e-310})
        EXPECT_FALSE(olaf::fitting_scale(packing, largest)) << largest;
    EXPECT_FALSE(olaf::fitting_scale(packing, 1, 0.5));
    EXPECT_FALSE(olaf::fitting_scale({.format = Format::f32x2}, 1));
}

} // namespace
} // namespace olaf::test::encoder_test
