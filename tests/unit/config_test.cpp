// SPDX-License-Identifier: BSD-2-Clause
// A queue's configuration, and what `olaf attach --save` writes of it.
#include <gtest/gtest.h>

#include <arpa/inet.h>

#include "loader/attachment/saved.hpp"
#include "loader/datapath/config.hpp"

namespace olaf::test::config_test {
namespace {

using Words = std::vector<std::string>;

// From what a person says about a queue to the constants of its programs.

TEST(Config, derives_sizes) {
    const auto config = make_config({.max_clusters = 9, .max_segments = 3, .max_lanes = 100});
    ASSERT_TRUE(config);
    EXPECT_EQ(config->queue_capacity, 54u); // two buffers for each slot
    EXPECT_EQ(config->ring_places, 128u);
    EXPECT_EQ(config->max_lanes, 112u);
    EXPECT_NE(config->token_secret, 0u);
    EXPECT_EQ(make_config({.queue_capacity = 8})->ring_places, 16u);
    EXPECT_EQ(make_config({.queue_capacity = 1})->ring_places, 2u);
}

TEST(Config, auto_queue_holds_all_that_can_wait) {
    for (const std::uint32_t slots : {1u, 1000u, 100'000u, std::uint32_t{OLAF_MAX_SLOTS}}) {
        const auto config = make_config({.max_clusters = slots});
        ASSERT_TRUE(config) << slots;
        EXPECT_EQ(config->queue_capacity, 2 * slots);
        EXPECT_GE(config->ring_places, 2 * config->queue_capacity);
    }
}

TEST(Config, takes_a_byte_at_the_rate) {
    EXPECT_EQ(ns_per_byte_q24(0), 0u);
    EXPECT_EQ(ns_per_byte_q24(8'000'000'000), std::uint64_t{1} << 24);
    EXPECT_EQ(ns_per_byte_q24(10'000), std::uint64_t{800'000} << 24);
    EXPECT_GT(ns_per_byte_q24(1'000'000'000'000), 0u);
}

TEST(Config, counts_the_lanes_of_an_mtu) {
    EXPECT_EQ(lanes_of_mtu(1500), 192u); // 178, rounded up to 16
    EXPECT_EQ(lanes_of_mtu(9000), 1120u);
    EXPECT_EQ(lanes_of_mtu(65535), static_cast<unsigned>(OLAF_MAX_LANES));
    EXPECT_EQ(lanes_of_mtu(68), 16u);
    EXPECT_EQ(lanes_within(1500), 178u);
    EXPECT_EQ(lanes_within(1500, 40), 175u);
    EXPECT_EQ(lanes_within(84), 1u);
    EXPECT_EQ(lanes_within(83), 0u);
    EXPECT_EQ(lanes_within(9291), OLAF_MAX_LANES - 1u);
    EXPECT_EQ(lanes_within(9292), static_cast<unsigned>(OLAF_MAX_LANES));
    EXPECT_EQ(lanes_within(65535), static_cast<unsigned>(OLAF_MAX_LANES));
}

TEST(Config, refuses_what_is_out_of_range) {
    EXPECT_FALSE(make_config({.max_clusters = 0}));
    EXPECT_FALSE(make_config({.max_clusters = 131073}));
    EXPECT_FALSE(make_config({.max_clusters = 65536, .max_segments = 3}));
    EXPECT_FALSE(make_config({.queue_capacity = 0}));
    EXPECT_FALSE(make_config({.max_lanes = OLAF_MAX_LANES + 1}));
    EXPECT_FALSE(make_config({.rate_bps = 999}));
    EXPECT_FALSE(make_config({.drain_interval_ns = 1}));
    EXPECT_FALSE(make_config({.deliver = OLAF_DELIVER_FORWARD}));
}

TEST(Config, takes_a_window) {
    const auto fixed = make_config({.window = {.most = 8}});
    EXPECT_EQ(fixed->window, 8u);
    EXPECT_EQ(fixed->flags & OLAF_CONFIG_WINDOW_AUTO, 0u);
    const auto automatic = make_config({.window = {.automatic = true, .most = 1024}});
    EXPECT_NE(automatic->flags & OLAF_CONFIG_WINDOW_AUTO, 0u);
    EXPECT_EQ(window_of(*automatic), (Window{.automatic = true, .most = 1024}));
    EXPECT_FALSE(make_config({.window = {.most = 1025}}));
}

TEST(Config, keeps_the_members_table_within_bounds) {
    EXPECT_EQ(make_config({.max_clusters = 1024})->max_workers, 256u);
    EXPECT_EQ(make_config({.max_clusters = 65536})->max_workers, 16u);
    EXPECT_EQ(make_config({.max_clusters = 65536, .max_workers = 256})->max_workers, 256u);
    EXPECT_FALSE(make_config({.max_clusters = 65536, .max_workers = 257}));
}

// What `olaf attach --save` writes, without a queue.

olaf_config config(const DatapathConfig &human) {
    return make_config(human).value();
}

TEST(Saved, LeavesOutWhatAttachWouldChoose) {
    const auto usual = config({.fifo = false});
    EXPECT_EQ(options_like(usual, usual, "", {}), Words({"--local"}));
    const auto other = config({.port = 7, .rate_bps = 4'000'000, .strict = true});
    EXPECT_EQ(options_like(other, usual, "", {}),
              Words({"--local", "--port", "7", "--rate", "4mbit", "--fifo", "--strict"}));
    const auto jobs = config({.round_slots = 64, .fifo = false});
    EXPECT_EQ(options_like(jobs, usual, "", {}), Words({"--local", "--round-slots", "64"}));
    // The other way round, where attach would choose what isn't wanted.
    EXPECT_EQ(options_like(usual, other, "", {}),
              Words({"--local", "--port", "6523", "--rate", "unlimited", "--no-strict"}));
}

/// The rate of a line is its link's, known or not: as a number it would be kept after a boot.
TEST(Saved, NamesNoSpeedOfALine) {
    const auto gigabit = config({.rate_bps = 1'000'000'000, .frame_overhead = ethernet_overhead, .fifo = false});
    const auto unknown = config({.frame_overhead = ethernet_overhead, .fifo = false});
    const auto unlimited = config({.fifo = false});
    EXPECT_EQ(options_like(unknown, gigabit, "", {}), Words({"--local"}));
    EXPECT_EQ(options_like(gigabit, unknown, "", {}), Words({"--local"}));
    EXPECT_EQ(options_like(gigabit, unlimited, "", {}), Words({"--local", "--rate", "line"}));
    EXPECT_EQ(options_like(unlimited, unknown, "", {}), Words({"--local", "--rate", "unlimited"}));
}

TEST(Saved, SaysWhetherItBridgesOnlyWhereItForwards) {
    DatapathConfig human{.deliver = OLAF_DELIVER_FORWARD, .egress_ifindex = 3, .fifo = false};
    human.ifindex = 2;
    const auto bridging = config(human);
    human.bridge = false;
    const auto routing = config(human);
    EXPECT_EQ(options_like(routing, bridging, "out", {}),
              Words({"--forward", "out", "--no-bridge"}));
    EXPECT_EQ(options_like(bridging, routing, "out", {}), Words({"--forward", "out", "--bridge"}));
}

TEST(Saved, NamesServicesAsSystemdEscapesThem) {
    EXPECT_EQ(service_name("eth0"), "olaf@eth0.service");
    EXPECT_EQ(service_name("eth0.5"), "olaf@eth0.5.service");
    EXPECT_EQ(service_name("br-lan"), "'olaf@br\\x2dlan.service'");
    EXPECT_EQ(service_name(".x"), "'olaf@\\x2ex.service'");
}

} // namespace
} // namespace olaf::test::config_test
