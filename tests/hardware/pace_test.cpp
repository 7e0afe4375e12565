// SPDX-License-Identifier: BSD-2-Clause
// How many cycles things take: what docs/hardware.md claims of them.
#include "hardware_test.hpp"
#include "timing.hpp"

using namespace olaf::test;

namespace {

TEST(HardwarePace, TheFirstBeatLeavesSevenCyclesAfterTheLastCame) {
    for (const std::size_t bytes : {106ul, 514ul, 1514ul, 9036ul})
        EXPECT_EQ(latency_of(bytes).first, (bytes + 63) / 64 - 1 + 7) << bytes;
}

TEST(HardwarePace, TakesABeatACycleOfLargeFrames) {
    for (const std::size_t bytes : {514ul, 1514ul, 9036ul}) {
        const auto taken = taking_of(bytes, 20);
        EXPECT_LE(taken.cycles, taken.beats + taken.beats / 20) << bytes;
    }
}

TEST(HardwarePace, DecidesEveryTwoCycles) {
    const auto taken = taking_of(106, 200);
    EXPECT_LE(taken.cycles, 2 * 200 + 12u);
}

} // namespace
