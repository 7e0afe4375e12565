// SPDX-License-Identifier: BSD-2-Clause
// A card that is reset in the middle of frames, departures and register accesses begins anew.
#include "hardware_test.hpp"
#include "random_frames.hpp"

using namespace olaf::test;

namespace {

TEST(HardwareReset, InMidFrameItBeginsAnew) {
    Setting setting{.ns_per_byte_q24 = 1 << 22, .asked = {}};
    setting.asked.max_clusters = 4;
    Twin both(setting, 5);
    RandomFrames random(5, {.clusters = 4, .segments = 1, .max_lanes = 300, .ipv6 = false});
    both.card.stalls = {20, 20, 8};
    for (int times = 0; times < 60; times++) {
        for (int i = 0; i < 40; i++) {
            random.send(both);
            both.send_back(random.back());
        }
        both.card.cycles(100 + random.updates.below(300));
        ASSERT_EQ(both.differences(), "") << "before reset " << times;
        both.reset();
        EXPECT_EQ(both.compare_counters(), "") << "after reset " << times;
    }
    for (const auto way : {Card::up, Card::down}) {
        EXPECT_GT(both.card.met().cut_in[way], 5u) << "resets in the middle of a frame that comes";
        EXPECT_GT(both.card.met().cut_out[way], 5u) << "in the middle of one that leaves";
    }
    for (int i = 0; i < 200; i++)
        random.send(both);
    EXPECT_TRUE(both.settle()) << "hangs";
    EXPECT_EQ(both.compare_counters() + both.compare_slots() + both.differences(), "");
}

} // namespace
