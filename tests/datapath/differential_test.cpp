// SPDX-License-Identifier: BSD-2-Clause
// Random arrivals into the kernel's queue and into the model: verdicts, every byte that leaves,
// every counter and everything that waits must agree after each step.
//
// OLAF_STEPS sets the number of steps over all configurations, OLAF_SEED the seed.
#include <iostream>

#include <gtest/gtest.h>

#include "differential.hpp"
#include "random_updates.hpp"
#include "tests/effort.hpp"

namespace olaf::test::differential_test {
namespace {

struct Setting {
    std::string name;
    std::uint32_t clusters, segments, max_lanes, capacity; ///< capacity 0: auto
    unsigned free_percent;                                 ///< how often the link is free
    unsigned share;                                        ///< of the steps, in percent
};

const std::vector<Setting> settings = {
    {"one_place", 3, 1, 16, 1, 30, 15},       {"few_places", 4, 2, 32, 3, 30, 25},
    {"never_full", 3, 2, 32, 0, 25, 25},      {"sixteen_places", 12, 3, 64, 16, 35, 20},
    {"mostly_free", 3, 1, 32, 8, 70, 10},     {"jumbo", 3, 1, 1152, 4, 40, 5},
};

void PrintTo(const Setting &setting, std::ostream *out) { *out << setting.name; }

class DifferentialTest : public testing::TestWithParam<Setting> {};

TEST_P(DifferentialTest, KernelAndModelAgreeStepByStep) {
    const auto &setting = GetParam();
    const auto seed = from_environment("OLAF_SEED", 1);
    const auto steps = from_environment("OLAF_STEPS", 120'000) * setting.share / 100;
    olaf::DatapathConfig config;
    config.rate_bps = 1'000'000'000;
    config.drain_interval_ns = 1'000'000'000; // credit enough that the test may be interrupted
    config.frame_overhead = 24;
    config.max_clusters = setting.clusters;
    config.max_segments = setting.segments;
    config.max_lanes = setting.max_lanes;
    if (setting.capacity != 0)
        config.queue_capacity = setting.capacity;
    config.ifindex = 1; // what the drain drains vanishes in lo
    Differential both(config);
    RandomUpdates random(seed, {.clusters = setting.clusters,
                                .segments = setting.segments,
                                .max_lanes = setting.max_lanes,
                                .wide = true});
    const bool any_buffers =
        can_choose_linear_bytes(both.kernel().queue().program_fd("olaf_ingress"));
    for (std::uint32_t cluster = 0; cluster < setting.clusters; cluster++)
        both.set_rule(cluster, random.rule());

    for (std::uint64_t step = 0; step < steps; step++) {
        if (random.one_in(100))
            both.set_rule(static_cast<std::uint32_t>(random.below(setting.clusters)),
                          random.rule());
        auto update = random.update();
        auto frame = random.frame(update);
        if (random.one_in(20) && get_be(frame.bytes, frame.l4 + 6, 2) != 0)
            random.damage(frame);
        bool free = random.below(100) < setting.free_percent;
        auto difference = random.one_in(40) ? both.drain() : std::string();
        const bool late = random.one_in(20);
        // The first buffer holds the headers and the message's own; the rest may come in further ones.
        std::size_t linear = 0;
        if (any_buffers && random.one_in(10))
            linear = frame.message + 48 + (random.one_in(4) ? 0 : random.below(8 * update.wire_lanes()));
        if (linear > linear_limit)
            linear = 0;
        difference += both.step(update, frame, free, late, linear);
        ASSERT_TRUE(difference.empty())
            << difference << "OLAF_SEED=" << seed << ", step " << step << ", cluster "
                                  << update.cluster << " segment " << update.segment;
    }
    std::cout << setting.name << ": seed " << seed << ", " << steps << " steps:";
    for (const auto &[what, times] : both.coverage())
        std::cout << " " << what << " " << times;
    std::cout << "\n";
}

INSTANTIATE_TEST_SUITE_P(Settings, DifferentialTest, testing::ValuesIn(settings),
                         [](const auto &info) { return info.param.name; });

} // namespace
} // namespace olaf::test::differential_test
