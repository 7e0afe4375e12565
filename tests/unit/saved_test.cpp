// SPDX-License-Identifier: BSD-2-Clause
// What `olaf attach --save` writes, without a queue.
#include <gtest/gtest.h>

#include "loader/attachment/saved.hpp"
#include "loader/datapath/config.hpp"

namespace olaf::test::saved_test {
namespace {

using Words = std::vector<std::string>;

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
} // namespace olaf::test::saved_test
