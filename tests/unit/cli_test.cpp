// SPDX-License-Identifier: BSD-2-Clause
// What people write for the command: read strictly, without root.
#include <gtest/gtest.h>

#include <arpa/inet.h>

#include <initializer_list>
#include <string>
#include <vector>

#include "loader/cli/cli.hpp"
#include "loader/datapath/config.hpp"
#include "loader/text/address.hpp"
#include "loader/text/units.hpp"

namespace {

using namespace olaf;

std::variant<CommandLine, Farewell> parse(std::initializer_list<const char *> words) {
    std::vector<const char *> argv{"olaf"};
    argv.insert(argv.end(), words);
    return parse_command_line(static_cast<int>(argv.size()), argv.data());
}

template <class Options> Options good(std::initializer_list<const char *> words) {
    auto parsed = parse(words);
    auto *line = std::get_if<CommandLine>(&parsed);
    if (line == nullptr) {
        ADD_FAILURE() << std::get<Farewell>(parsed).text;
        return {};
    }
    return std::get<Options>(line->command);
}

/// Status 2 and a text that names the trouble.
void expect_usage(std::initializer_list<const char *> words, const std::string &trouble) {
    const auto parsed = parse(words);
    const auto *farewell = std::get_if<Farewell>(&parsed);
    ASSERT_NE(farewell, nullptr);
    EXPECT_EQ(farewell->status, 2);
    EXPECT_NE(farewell->text.find(trouble), std::string::npos) << farewell->text;
}

TEST(Rate, reads_units) {
    EXPECT_EQ(parse_rate("20gbit")->bps, 20'000'000'000u);
    EXPECT_EQ(parse_rate("10kbit")->bps, 10'000u);
    EXPECT_EQ(parse_rate("1.5Mbit")->bps, 1'500'000u);
    EXPECT_EQ(parse_rate("unlimited")->bps, 0u);
    EXPECT_TRUE(parse_rate("line")->line);
}

TEST(Rate, refuses_everything_else) {
    for (const auto *text : {"", "20", "gbit", "-1gbit", "1..5mbit", "1e9bit", "20 gbit", "20gbits",
                             "0mbit", "1bit", "2tbit", "nan", "0x10mbit", "20gbit "})
        EXPECT_FALSE(parse_rate(text)) << text;
}

TEST(Rate, is_written_as_it_is_read) {
    for (const auto *text : {"20gbit", "10kbit", "1.5mbit", "unlimited"})
        EXPECT_EQ(rate_text(parse_rate(text)->bps), text);
}

TEST(Duration, reads_units) {
    EXPECT_EQ(*parse_duration("100us"), 100'000u);
    EXPECT_EQ(*parse_duration("1.5ms"), 1'500'000u);
    EXPECT_EQ(*parse_duration("1s"), 1'000'000'000u);
    for (const auto *text : {"", "100", "us", "-1us", "1m", "0us", "1us1"})
        EXPECT_FALSE(parse_duration(text)) << text;
}

TEST(Range, reads_one_and_many) {
    EXPECT_EQ(*parse_range("3"), (Range{3, 3}));
    EXPECT_EQ(*parse_range("3-17"), (Range{3, 17}));
    for (const auto *text : {"", "-", "3-", "-3", "17-3", "3-4-5", "a", "3 ", "4294967295"})
        EXPECT_FALSE(parse_range(text)) << text;
}

TEST(Reward, is_fixed_point) {
    EXPECT_EQ(*parse_reward("0.5"), 1 << 15);
    EXPECT_EQ(*parse_reward("0"), 0);
    EXPECT_EQ(*parse_reward("off"), -1);
    for (const auto *text : {"", "-1", "on", "nan", "inf", "2147483648", "0.5x"})
        EXPECT_FALSE(parse_reward(text)) << text;
}

TEST(Endpoint, reads_both_families) {
    EXPECT_EQ(parse_endpoint("192.0.2.1")->port, OLAF_DEFAULT_PORT);
    EXPECT_EQ(endpoint_text(*parse_endpoint("192.0.2.1:7")), "192.0.2.1:7");
    EXPECT_EQ(endpoint_text(*parse_endpoint("2001:db8::1")), "[2001:db8::1]:6523");
    EXPECT_EQ(endpoint_text(*parse_endpoint("[2001:db8::1]:7")), "[2001:db8::1]:7");
    for (const auto *text :
         {"", "192.0.2", "192.0.2.1:", "192.0.2.1:0", "192.0.2.1:65536", "[192.0.2.1]:7",
          "[2001:db8::1", "[2001:db8::1]7", "[2001:db8::1]:", "host", "host:7"})
        EXPECT_FALSE(parse_endpoint(text)) << text;
}

TEST(Prefix, maps_ipv4) {
    const auto v4 = parse_prefix("192.0.2.0/24");
    ASSERT_TRUE(v4);
    EXPECT_EQ(v4->prefix_bits, 96u + 24u);
    EXPECT_EQ(v4->address[10], 0xff);
    EXPECT_EQ(v4->address[12], 192);
    EXPECT_EQ(parse_prefix("2001:db8::/32")->prefix_bits, 32u);
    EXPECT_EQ(parse_prefix("0.0.0.0/0")->prefix_bits, 96u);
    for (const auto *text : {"192.0.2.0/24", "192.0.2.1/32", "2001:db8::/32", "::/0"})
        EXPECT_EQ(prefix_text(*parse_prefix(text)), text);
    for (const auto *text : {"", "/24", "192.0.2.0/33", "192.0.2.1/24", "2001:db8::1/32",
                             "192.0.2.0/", "192.0.2.0/-1", "::/129"})
        EXPECT_FALSE(parse_prefix(text)) << text;
}

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

TEST(Config, makes_room_for_fifo_only_where_it_is_wanted) {
    const auto places = [](bool fifo, olaf_policy policy) {
        return make_config({.queue_capacity = 600, .policy = policy, .fifo = fifo})->fifo_places;
    };
    EXPECT_EQ(places(false, OLAF_POLICY_OLAF), 0u);
    // A power of two that holds what waits and what leaves; no more than the ring has.
    EXPECT_EQ(places(true, OLAF_POLICY_OLAF), 1024u);
    EXPECT_EQ(places(false, OLAF_POLICY_FIFO), 1024u);
    EXPECT_EQ(make_config({.queue_capacity = 8, .policy = OLAF_POLICY_FIFO})->fifo_places, 16u);
    EXPECT_TRUE(good<AttachOptions>({"attach", "eth0", "--local", "--fifo"}).fifo);
    EXPECT_FALSE(good<AttachOptions>({"attach", "eth0", "--local"}).fifo);
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

TEST(CommandLine, reads_attach) {
    const auto options = good<AttachOptions>(
        {"attach",      "eth0",    "--upstream",   "[2001:db8::1]:7", "--queue",
         "8",           "--rate",  "20gbit",       "--policy",        "fifo",
         "--max-lanes", "mtu",     "--mode",       "native",          "--drain-interval",
         "1ms",         "--allow", "192.0.2.0/24", "--allow",         "2001:db8::/32"});
    EXPECT_EQ(options.device, "eth0");
    EXPECT_EQ(options.upstream->port, 7);
    EXPECT_EQ(options.queue, std::optional{std::optional{8u}});
    EXPECT_EQ(options.rate->bps, 20'000'000'000u);
    EXPECT_EQ(options.policy, OLAF_POLICY_FIFO);
    ASSERT_TRUE(options.max_lanes);
    EXPECT_FALSE(*options.max_lanes);
    EXPECT_EQ(options.mode, XdpMode::native);
    EXPECT_EQ(options.drain_interval_ns, 1'000'000u);
    EXPECT_EQ(options.allow.size(), 2u);
    EXPECT_FALSE(options.port);
}

TEST(CommandLine, takes_global_options_anywhere) {
    for (auto words : {std::initializer_list<const char *>{"--netns", "n", "--json", "status", "d"},
                       {"status", "d", "--json", "--netns", "n"}}) {
        const auto parsed = parse(words);
        const auto *line = std::get_if<CommandLine>(&parsed);
        ASSERT_NE(line, nullptr);
        EXPECT_EQ(line->global.netns, "n");
        EXPECT_TRUE(line->global.json);
        EXPECT_EQ(std::get<StatusOptions>(line->command).device, "d");
    }
}

TEST(CommandLine, reads_cluster) {
    const auto set = good<ClusterOptions>(
        {"cluster", "set", "eth0", "3-17", "--reward-threshold", "0.5", "--max-count", "4"});
    EXPECT_EQ(set.action, ClusterOptions::Action::set);
    EXPECT_EQ(set.clusters, (Range{3, 17}));
    EXPECT_EQ(set.reward_threshold, 1 << 15);
    EXPECT_EQ(set.max_count, 4u);
    EXPECT_EQ(good<ClusterOptions>({"cluster", "remove", "eth0", "3"}).action,
              ClusterOptions::Action::remove);
    EXPECT_FALSE(good<ClusterOptions>({"cluster", "list", "eth0"}).clusters);
}

TEST(CommandLine, refuses_wrong_usage) {
    expect_usage({}, "subcommand");
    expect_usage({"atach", "eth0"}, "atach");
    expect_usage({"attach", "--local"}, "device");
    expect_usage({"attach", "eth0"}, "--local");
    expect_usage({"attach", "eth0", "--local", "--forward", "eth1"}, "at most 1");
    expect_usage({"attach", "eth0", "--local", "--port", "0"}, "1 ... 65535");
    expect_usage({"attach", "eth0", "--local", "--port", "65536"}, "1 ... 65535");
    expect_usage({"attach", "eth0", "--local", "--rate", "20"}, "20gbit");
    expect_usage({"attach", "eth0", "--local", "--mode", "fast"}, "--mode");
    expect_usage({"attach", "eth0", "--local", "--policy", "lifo"}, "olaf, fifo");
    expect_usage({"attach", "eth0", "--local", "--drain-interval", "1us"}, "10us");
    expect_usage({"attach", "eth0", "--local", "--allow", "10.0.0.1/8"}, "must be zero");
    expect_usage({"cluster", "set", "eth0", "3"}, "--max-count");
    expect_usage({"cluster", "set", "eth0", "--policy", "fifo"}, "clusters");
    expect_usage({"cluster", "set", "eth0", "3", "--max-count", "0"}, "1 ... 65535");
}

TEST(Units, reads_windows) {
    EXPECT_EQ(*parse_window("1"), (Window{.most = 1}));
    EXPECT_EQ(*parse_window("1024"), (Window{.most = 1024}));
    EXPECT_EQ(*parse_window("auto"), (Window{.automatic = true, .most = 1024}));
    EXPECT_EQ(*parse_window("off"), Window{});
    for (const auto *text : {"", "0", "1025", "-1", "8k", "automatic", "on"})
        EXPECT_FALSE(parse_window(text)) << text;
    for (const auto *text : {"1", "1024", "auto", "off"})
        EXPECT_EQ(window_text(*parse_window(text)), text);
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

TEST(CommandLine, window_and_rate_go_together) {
    const auto options =
        good<AttachOptions>({"attach", "eth0", "--local", "--window", "8", "--rate", "1gbit"});
    EXPECT_EQ(options.window, (Window{.most = 8}));
    EXPECT_EQ(options.rate->bps, 1'000'000'000u);
    EXPECT_FALSE(good<AttachOptions>({"attach", "eth0", "--local"}).window);
    expect_usage({"attach", "eth0", "--local", "--window", "0"}, "1 ... 1024, auto or off");
}

TEST(CommandLine, replace_needs_no_delivery) {
    EXPECT_TRUE(good<AttachOptions>({"attach", "eth0", "--replace"}).replace);
}

TEST(CommandLine, help_and_version_are_no_failure) {
    for (auto words :
         {std::initializer_list<const char *>{"--help"}, {"attach", "--help"}, {"--version"}}) {
        const auto parsed = parse(words);
        const auto *farewell = std::get_if<Farewell>(&parsed);
        ASSERT_NE(farewell, nullptr);
        EXPECT_EQ(farewell->status, 0);
        EXPECT_FALSE(farewell->text.empty());
    }
}

TEST(Worker, reads_an_id_and_an_address) {
    const auto port = [](const char *text) { return parse_worker(text)->port; };
    EXPECT_EQ(*parse_worker("3=192.0.2.1"),
              (WorkerAddress{.worker = 3, .address = *parse_address("192.0.2.1"), .port = 0}));
    EXPECT_EQ(parse_worker("4294967294=2001:db8::1")->worker, 0xfffffffeu);
    EXPECT_EQ(port("0=192.0.2.1:40000"), 40000);
    EXPECT_EQ(port("0=192.0.2.1:6523"), 6523);
    EXPECT_EQ(port("0=2001:db8::1"), 0);
    EXPECT_EQ(port("0=[2001:db8::1]"), 0);
    EXPECT_EQ(port("0=[2001:db8::1]:7"), 7);
}

TEST(Worker, refuses_everything_else) {
    for (const auto *text : {"", "3", "=192.0.2.1", "3=", "x=192.0.2.1", "-1=192.0.2.1",
                             "4294967295=192.0.2.1", "3=192.0.2.1:", "3=192.0.2.1:0", "3=host",
                             "3=192.0.2.1:70000", "3 =192.0.2.1", "3=[192.0.2.1]:7"})
        EXPECT_FALSE(parse_worker(text)) << text;
}

TEST(Cluster, takes_workers) {
    const auto set = good<ClusterOptions>(
        {"cluster", "set", "eth0", "3", "--worker", "0=192.0.2.1", "--worker", "1=[::1]:7"});
    ASSERT_EQ(set.workers.size(), 2u);
    EXPECT_EQ(set.workers[1], *parse_worker("1=[::1]:7"));
    expect_usage({"cluster", "set", "eth0", "3", "--worker", "1:192.0.2.1"}, "ID=ADDR");
}

TEST(Attach, takes_members_options) {
    const auto options = good<AttachOptions>({"attach", "eth0", "--local", "--strict",
                                              "--max-workers", "1000", "--member-timeout", "5s"});
    EXPECT_EQ(options.strict, true);
    EXPECT_EQ(options.max_workers, 1000u);
    EXPECT_EQ(options.member_timeout_ns, 5'000'000'000u);
    EXPECT_EQ(good<AttachOptions>({"attach", "eth0", "--replace", "--no-strict"}).strict, false);
    EXPECT_EQ(good<AttachOptions>({"attach", "eth0", "--local"}).strict, std::nullopt);
    expect_usage({"attach", "eth0", "--local", "--max-workers", "0"}, "max-workers");
    expect_usage({"attach", "eth0", "--local", "--member-timeout", "1ms"}, "member-timeout");
}

TEST(Attach, takes_verify) {
    EXPECT_EQ(good<AttachOptions>({"attach", "eth0", "--local", "--verify"}).verify, true);
    EXPECT_EQ(good<AttachOptions>({"attach", "eth0", "--replace", "--no-verify"}).verify, false);
    EXPECT_EQ(good<AttachOptions>({"attach", "eth0", "--local"}).verify, std::nullopt);
}

TEST(Config, keeps_the_members_table_within_bounds) {
    EXPECT_EQ(make_config({.max_clusters = 1024})->max_workers, 256u);
    EXPECT_EQ(make_config({.max_clusters = 65536})->max_workers, 16u);
    EXPECT_EQ(make_config({.max_clusters = 65536, .max_workers = 256})->max_workers, 256u);
    EXPECT_FALSE(make_config({.max_clusters = 65536, .max_workers = 257}));
}

} // namespace
