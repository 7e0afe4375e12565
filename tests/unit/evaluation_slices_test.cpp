// SPDX-License-Identifier: BSD-2-Clause
// Which parts of a run on several CPUs count.
#include "bench/stream/slices.hpp"

#include <gtest/gtest.h>

namespace olaf::bench {
namespace {

using namespace std::chrono_literals;

Sample at(std::chrono::milliseconds time, std::uint64_t first, std::uint64_t second,
          std::uint64_t frames = 0) {
    Figures figures{.offered = first + second, .taken = first + second, .frames = frames};
    figures.shares = {first, second};
    return {.at = std::chrono::steady_clock::time_point(time), .figures = figures, .cpu_ns = 0};
}

TEST(Slices, CountWhereEveryGeneratorRan) {
    EXPECT_TRUE(all_ran(at(0ms, 500, 100).figures, at(20ms, 1500, 1100).figures));
    EXPECT_TRUE(all_ran(at(0ms, 0, 0).figures, at(20ms, 1000, 850).figures));
}

TEST(Slices, DontCountWhereOneWaitedForItsCpu) {
    EXPECT_FALSE(all_ran(at(0ms, 0, 0).figures, at(20ms, 1000, 840).figures));
    EXPECT_FALSE(all_ran(at(0ms, 5000, 5000).figures, at(20ms, 5000, 6000).figures));
}

TEST(Slices, CountWhereGeneratorsArentToldApart) {
    EXPECT_TRUE(all_ran(Figures{.offered = 1}, Figures{.offered = 2}));
}

TEST(Slices, AddUpToTheTimeThatCounts) {
    Slices slices;
    slices.add(at(0ms, 0, 0), at(20ms, 100, 100, 50));
    slices.add(at(100ms, 900, 900, 500), at(120ms, 1000, 1000, 550));
    EXPECT_DOUBLE_EQ(slices.seconds, 0.04);
    EXPECT_DOUBLE_EQ(slices.rate(&Slices::taken), 10'000);
    EXPECT_DOUBLE_EQ(slices.rate(&Slices::frames), 2'500);
}

} // namespace
} // namespace olaf::bench
