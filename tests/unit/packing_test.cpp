// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include <olaf/packing.hpp>

namespace olaf::test::packing_test {
namespace {

using olaf::Format;
using olaf::Packing;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kMax = std::numeric_limits<float>::max();

// The definition in docs/protocol.md, element by element, in plain 64-bit arithmetic.
std::vector<std::uint64_t> pack_by_definition(Format format, const std::vector<std::int64_t> &e) {
    const unsigned per_lane = olaf::elements_per_lane(format);
    std::vector<std::uint64_t> lanes(olaf::lanes_for(format, e.size()));
    for (std::size_t i = 0; i < e.size(); i++)
        lanes[i / per_lane] += static_cast<std::uint64_t>(e[i]) << (64 / per_lane * (i % per_lane));
    return lanes;
}

std::vector<std::uint64_t> pack(const Packing &packing, const std::vector<float> &gradient) {
    std::vector<std::uint64_t> lanes(olaf::lanes_for(packing.format, gradient.size()), ~0ULL);
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
                         [](const auto &info) { return std::string(olaf::name(info.param)); });

TEST_P(PackingTest, IsLinearAsDefined) {
    // At most one lane, odd counts, more than one block of the implementation.
    for (const std::size_t elements : {1, 2, 3, 4, 5, 7, 8, 511, 512, 513, 1030}) {
        std::vector<float> gradient(elements);
        std::vector<std::int64_t> steps(elements);
        for (std::size_t i = 0; i < elements; i++) {
            steps[i] = static_cast<std::int64_t>(i * 37 % 255) - 127;
            gradient[i] = static_cast<float>(steps[i]) / 8.0F;
        }
        EXPECT_EQ(pack({.format = GetParam(), .scale = 8.0}, gradient),
                  pack_by_definition(GetParam(), steps))
            << elements << " elements";
    }
}

TEST_P(PackingTest, RoundTripsRandomGradientsWithinHalfAStep) {
    const Packing packing = {.format = GetParam(), .scale = 1000.0, .max_count = 16};
    std::mt19937 random(1);
    std::uniform_real_distribution<float> uniform(-2.0F, 2.0F);
    std::vector<float> gradient(777);
    for (float &g : gradient)
        g = uniform(random);
    const auto result = unpack(GetParam(), 1.0 / packing.scale, pack(packing, gradient), 777);
    for (std::size_t i = 0; i < gradient.size(); i++)
        ASSERT_NEAR(result[i], gradient[i], 0.5 / packing.scale + 1e-6) << i;
}

TEST_P(PackingTest, RoundsToNearestTiesToEven) {
    const std::vector<float> gradient = {0.5F,  1.5F,        2.5F,   -0.5F,
                                         -1.5F, 0.49999997F, -2.51F, -0.0F};
    const std::vector<std::int64_t> steps = {0, 2, 2, 0, -2, 0, -3, 0};
    EXPECT_EQ(pack({.format = GetParam(), .scale = 1.0}, gradient),
              pack_by_definition(GetParam(), steps));
}

TEST_P(PackingTest, ClipsAndCountsWhatIsOutOfRange) {
    const Packing packing = {.format = GetParam(), .scale = 1.0, .max_count = 16};
    const double limit = olaf::clip_limit(packing);
    const std::vector<float> gradient = {kMax, -kMax, kInf, -kInf, kNan, 1.0F, -kNan};
    std::vector<std::uint64_t> lanes(olaf::lanes_for(packing.format, gradient.size()));
    const auto report = olaf::pack(packing, gradient, lanes);
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
            std::vector<std::uint64_t> sum(olaf::lanes_for(packing.format, 4));
            const auto one = pack(packing, gradient);
            for (std::size_t lane = 0; lane < sum.size(); lane++)
                sum[lane] = one[lane] * max_count; // added so many times, mod 2^64
            const auto mean = unpack(GetParam(), 1.0 / max_count, sum, 4);
            const auto limit = static_cast<float>(olaf::clip_limit(packing));
            for (unsigned i = 0; i < 4; i++)
                ASSERT_FLOAT_EQ(mean[i], (signs >> i & 1) != 0 ? -limit : limit)
                    << "max_count " << max_count << ", signs " << signs << ", element " << i;
        }
    }
}

TEST_P(PackingTest, SumsOfLanesUnpackToSumsOfElements) {
    const Packing packing = {.format = GetParam(), .scale = 1.0, .max_count = 100};
    const auto limit = static_cast<int>(std::min(olaf::clip_limit(packing), 100000.0));
    std::mt19937 random(2);
    std::uniform_int_distribution<int> uniform(-limit, limit);
    std::vector<std::int64_t> expected(101);
    std::vector<std::uint64_t> sum(olaf::lanes_for(packing.format, expected.size()));
    for (unsigned update = 0; update < packing.max_count; update++) {
        std::vector<float> gradient(expected.size());
        for (std::size_t i = 0; i < gradient.size(); i++) {
            const int step = uniform(random);
            gradient[i] = static_cast<float>(step);
            expected[i] += step;
        }
        const auto lanes = pack(packing, gradient);
        for (std::size_t lane = 0; lane < sum.size(); lane++)
            sum[lane] += lanes[lane];
    }
    EXPECT_EQ(sum, pack_by_definition(GetParam(), expected));
    const auto result = unpack(GetParam(), 1.0, sum, expected.size());
    for (std::size_t i = 0; i < expected.size(); i++)
        ASSERT_EQ(result[i], static_cast<float>(expected[i])) << i;
}

TEST(Packing, LimitsAreThoseOfTheProtocol) {
    const auto limit = [](Format format, std::uint32_t max_count) {
        return olaf::clip_limit({.format = format, .max_count = max_count});
    };
    EXPECT_EQ(limit(Format::i32x2, 256), 8388607.0);
    EXPECT_EQ(limit(Format::i16x4, 256), 127.0);
    EXPECT_EQ(limit(Format::i16x4, 1), 32767.0);
    EXPECT_EQ(limit(Format::i64x1, 65535), 140739635871744.0);
    EXPECT_LT(limit(Format::i64x1, 1), 0x1p63); // 2^63 itself would overflow
}

TEST(Packing, RefusesWhatCannotWork) {
    EXPECT_FALSE(olaf::validate({.format = Format::f32x2}));
    EXPECT_FALSE(olaf::validate({.scale = 0.0}));
    EXPECT_FALSE(olaf::validate({.scale = kNan}));
    EXPECT_FALSE(olaf::validate({.scale = kInf}));
    EXPECT_FALSE(olaf::validate({.max_count = 0}));
    EXPECT_FALSE(olaf::validate({.max_count = 65536}));
    EXPECT_FALSE(olaf::validate({.format = Format::i16x4, .max_count = 32768}));
    EXPECT_TRUE(olaf::validate({.format = Format::i16x4, .max_count = 32767}));
    EXPECT_TRUE(olaf::validate({}));

    const std::vector<float> gradient(5);
    std::vector<std::uint64_t> lanes(2);
    EXPECT_FALSE(olaf::pack({}, gradient, lanes)) << "one lane short";
    std::vector<float> out(5);
    EXPECT_FALSE(olaf::unpack(Format::i32x2, 1.0, lanes, out));
}

TEST(Packing, WeightsAreCopiedBitByBit) {
    const std::vector<float> weights = {1.0F, -0.0F, kInf, 1e-45F, 3.25F};
    std::vector<std::uint64_t> lanes(3, ~0ULL);
    ASSERT_TRUE(olaf::pack_weights(weights, lanes));
    EXPECT_EQ(lanes[0], 0x80000000'3f800000ULL); // element 0 in the low half
    EXPECT_EQ(lanes[2], 0x00000000'40500000ULL); // padded with zero
    std::vector<float> result(5);
    ASSERT_TRUE(olaf::unpack_weights(lanes, result));
    EXPECT_EQ(result, weights);
    EXPECT_TRUE(std::signbit(result[1]));
}

} // namespace
} // namespace olaf::test::packing_test
