// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

#include <olaf/message.hpp>

namespace olaf::test::checksum_test {
namespace {

std::vector<std::uint64_t> random_lanes(std::size_t n, unsigned seed) {
    std::mt19937_64 random(seed);
    std::vector<std::uint64_t> lanes(n);
    for (std::uint64_t &lane : lanes)
        lane = random();
    return lanes;
}

TEST(Checksum, IsTheWeightedSumOfTheProtocol) {
    for (std::size_t n = 0; n <= 40; n++) {
        const auto lanes = random_lanes(n, 1);
        std::uint64_t expected = 0;
        for (std::size_t i = 0; i < n; i++)
            expected += (2 * i + 1) * lanes[i];
        EXPECT_EQ(olaf::checksum(lanes), expected) << n << " lanes";
    }
    const std::vector<std::uint64_t> lanes = {1, 10, 100};
    EXPECT_EQ(olaf::checksum(lanes), 1U + 30 + 500);
}

TEST(Checksum, OfASumIsTheSumOfChecksums) {
    const auto a = random_lanes(OLAF_MAX_LANES - 1, 2), b = random_lanes(OLAF_MAX_LANES - 1, 3);
    std::vector<std::uint64_t> sum(a.size());
    for (std::size_t i = 0; i < a.size(); i++)
        sum[i] = a[i] + b[i];
    EXPECT_EQ(olaf::checksum(sum), olaf::checksum(a) + olaf::checksum(b));
}

TEST(Checksum, SeesAnySingleChangedLane) {
    auto lanes = random_lanes(180, 4);
    lanes.back() = olaf::checksum(std::span(lanes).first(179));
    ASSERT_TRUE(olaf::checksum_matches(lanes));
    // Odd weights are invertible mod 2^64, so every change of one lane shows, even of
    // the top bit alone.
    for (std::size_t lane = 0; lane < lanes.size(); lane++) {
        for (const std::uint64_t change : {1ULL, 1ULL << 63, 0x1'0000'0000ULL, ~0ULL}) {
            lanes[lane] += change;
            EXPECT_FALSE(olaf::checksum_matches(lanes)) << "lane " << lane;
            lanes[lane] -= change;
        }
    }
    EXPECT_TRUE(olaf::checksum_matches(lanes));
}

TEST(Checksum, SeesTwoLanesSwapped) {
    auto lanes = random_lanes(20, 5);
    lanes.back() = olaf::checksum(std::span(lanes).first(19));
    std::swap(lanes[3], lanes[11]);
    EXPECT_FALSE(olaf::checksum_matches(lanes));
}

TEST(Checksum, OfNoLanesMatchesNothing) {
    EXPECT_FALSE(olaf::checksum_matches({}));
}

} // namespace
} // namespace olaf::test::checksum_test
