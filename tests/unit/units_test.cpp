// SPDX-License-Identifier: BSD-2-Clause
// Rates, times, ranges and addresses as people write them: read strictly.
#include <gtest/gtest.h>

#include <arpa/inet.h>

#include "loader/datapath/members.hpp"
#include "loader/text/address.hpp"
#include "loader/text/units.hpp"

namespace olaf::test::units_test {
namespace {

using namespace olaf;

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

} // namespace
} // namespace olaf::test::units_test
