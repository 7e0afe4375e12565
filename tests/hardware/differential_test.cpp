// SPDX-License-Identifier: BSD-2-Clause
// Random frames into the card and into the model: what becomes of each, every byte that leaves, its order,
// every counter and level must agree; with streams that stall at random, resets in the middle of it all, and
// a clock and counters that are near their words' ends. Each run asks whether it has truly met all that.
//
// OLAF_STEPS sets the number of updates over all settings, OLAF_SEED the seed.
#include <iostream>

#include <gtest/gtest.h>

#include "random_frames.hpp"
#include "tests/effort.hpp"
#include "twin.hpp"

using namespace olaf::test;

namespace {

struct Case {
    std::string name;
    std::uint32_t clusters, segments, max_lanes, capacity;
    double ns_per_byte; ///< 0: no rate
    Stalls stalls;
    unsigned share; ///< of the updates, in percent
    std::uint64_t counters_from = 0 - 20ull;
};

/// Updates in all settings together, and from how many on a run must have met everything.
constexpr std::uint64_t usual_updates = 110'000, enough_updates = 100'000;
constexpr std::uint64_t word = 1ull << 32;

// A card takes 64 bytes each 4 ns: at 0.0625 ns a byte the link is as fast as it is.
const std::vector<Case> cases = {
    {"one_place", 3, 1, 16, 1, 0.3, {20, 20, 8}, 12, word - 20},
    {"few_places", 4, 2, 32, 3, 0.3, {20, 20, 8}, 20},
    {"eight_places", 12, 3, 64, 8, 0.25, {30, 30, 20}, 20, word - 20},
    {"slow_link", 5, 1, 32, 8, 2.0, {10, 0, 8}, 15},
    {"no_rate_but_stalls", 6, 1, 32, 8, 0, {10, 60, 200}, 15, word - 20},
    {"mostly_free", 3, 1, 32, 8, 0.05, {60, 20, 40}, 13},
    {"blocked_for_long", 3, 1, 16, 4, 0, {0, 8, 4000}, 2},
    {"jumbo", 3, 1, 1152, 4, 0.12, {10, 10, 30}, 3},
};

void PrintTo(const Case &one, std::ostream *out) { *out << one.name; }

class HardwareDifferential : public testing::TestWithParam<Case> {
  protected:
    static Setting setting(const Case &one) {
        Setting out{.queue_capacity = one.capacity,
                    .ns_per_byte_q24 = static_cast<std::uint64_t>(one.ns_per_byte * (1 << 24)),
                    .drain_interval_ns = 200,
                    .activity_window_ns = 4096,
                    .frame_overhead = 24,
                    .asked = {},
                    .time_from = word - 8'000, // 2,000 cycles
                    .counters_from = one.counters_from};
        out.asked.max_clusters = static_cast<std::uint16_t>(one.clusters);
        out.asked.max_segments = static_cast<std::uint16_t>(one.segments);
        out.asked.max_lanes = static_cast<std::uint16_t>(one.max_lanes);
        out.asked.verify = one.share % 2 == 1;
        return out;
    }

    /// What a run of enough updates can't do without.
    static void expect_met(const Case &one, const Twin &both) {
        const auto &met = both.card.met();
        for (const auto way : {Card::up, Card::down}) {
            EXPECT_EQ(met.stalls_in[way] > 0, one.stalls.in > 0) << way;
            EXPECT_EQ(met.stalls_out[way] > 0, one.stalls.out > 0) << way;
        }
        EXPECT_GT(met.cut_in[Card::up] + met.cut_out[Card::up] + met.cut_out[Card::down], 0u)
            << "no reset in the middle of a frame";
        EXPECT_GT(met.ring_wraps, 20u);
        EXPECT_GT(met.ticket_wraps, 2u);
        EXPECT_GT(met.time_carries, 0u);
        EXPECT_GT(both.counters_wrapped, 0u);
        EXPECT_GT(both.sequences_wrapped, 50u);
    }
};

TEST(HardwareDifferentialSettings, DriveAHundredThousandUpdates) {
    unsigned shares = 0;
    for (const auto &one : cases)
        shares += one.share;
    EXPECT_EQ(shares, 100u) << "of the updates in percent";
    static_assert(usual_updates >= enough_updates);
}

TEST_P(HardwareDifferential, CardAndModelAgree) {
    const auto &one = GetParam();
    const auto seed = from_environment("OLAF_SEED", 1);
    const auto all_updates = from_environment("OLAF_STEPS", usual_updates);
    const auto updates = all_updates * one.share / 100, resets_at = std::max<std::uint64_t>(updates / 20, 40);
    std::uint64_t next_reset = resets_at;
    Twin both(setting(one), seed);
    RandomFrames random(seed, {.clusters = one.clusters,
                               .segments = one.segments,
                               .max_lanes = one.max_lanes,
                               .ipv6 = false});
    const auto set_rules = [&] {
        for (std::uint32_t cluster = 0; cluster < one.clusters; cluster++)
            both.set_rule(cluster, random.updates.rule());
    };
    set_rules();
    both.card.stalls = one.stalls;

    for (std::uint64_t sent = 0; sent < updates;) {
        for (int burst = 0; burst < 40; burst++) {
            sent += random.send(both);
            if (random.updates.one_in(12))
                both.send_back(random.back());
        }
        while (both.card.unsent(Card::up) > 4)
            both.card.cycles(8);
        std::string difference;
        if (sent >= next_reset && sent < updates) { // whatever is under way
            difference = both.compare_counters() + both.differences();
            for (int more = 0; more < 20; more++) { // reading the counters has let the others through
                random.send(both);
                both.send_back(random.back());
            }
            both.card.cycles(20 + random.updates.below(40));
            both.reset();
            difference += both.compare_counters();
            set_rules();
            next_reset += resets_at;
        }
        if (random.updates.one_in(60))
            difference += both.compare_counters();
        if (random.updates.one_in(400)) // rules change while nothing is between the two
            if (both.settle())
                both.set_rule(static_cast<std::uint32_t>(random.updates.below(one.clusters)),
                              random.updates.rule());
        difference += both.differences();
        ASSERT_TRUE(difference.empty()) << difference << "OLAF_SEED=" << seed << ", update " << sent;
    }
    EXPECT_TRUE(both.settle()) << "hangs\n" << both.differences();
    EXPECT_EQ(both.compare_counters() + both.compare_slots() + both.differences(), "");
    if (all_updates >= enough_updates)
        expect_met(one, both);
    std::cout << one.name << ": seed " << seed << ", " << both.card.clock() << " cycles:";
    for (const auto &[what, times] : both.seen)
        std::cout << " " << what << " " << times;
    std::cout << "\n";
}

INSTANTIATE_TEST_SUITE_P(Settings, HardwareDifferential, testing::ValuesIn(cases),
                         [](const auto &info) { return info.param.name; });

} // namespace
