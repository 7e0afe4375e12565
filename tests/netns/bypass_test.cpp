// SPDX-License-Identifier: BSD-2-Clause
// What isn't an update leaves byte-identical: frames, a ping, a TCP transfer.
#include <gtest/gtest.h>

#include "tcp.hpp"
#include "traffic.hpp"

namespace olaf::test::bypass_test {
namespace {

class Bypass : public testing::TestWithParam<Way> {
  protected:
    // Every offload on, so that frames come large, tagged beside and without checksums.
    Testbed bed{{.way = GetParam(), .worker = {.tx_checksum = true, .tx_vlan = true}}};
};

TEST_P(Bypass, TcpCarriesEveryByteBothWays) {
    bed.attach({"--rate", "1mbit"});
    for (const int family : {4, 6}) {
        SCOPED_TRACE(family);
        const auto there = random_bytes(6 << 20, 5), back = random_bytes(2 << 20, 6);
        const auto echoed =
            exchange_by_tcp(bed.worker, bed.server(), Testbed::server_peer(family), there, back);
        EXPECT_TRUE(echoed.there == there);
        EXPECT_TRUE(echoed.back == back);
    }
    const auto status = bed.olaf.status();
    EXPECT_GT(status["bypassed"], 0u);
    EXPECT_EQ(status["received"], 0u);
    EXPECT_EQ(status["malformed"], 0u);
}

TEST_P(Bypass, PingsAreAnswered) {
    bed.attach();
    for (const char *address : {"10.0.1.2", "fd00:0:0:1::2"}) {
        const auto told =
            run({"ping", "-n", "-c", "3", "-i", "0.02", "-s", "1200", address}, {}, &bed.worker);
        EXPECT_EQ(told.status, 0) << told.out << told.err;
        EXPECT_NE(told.out.find(" 0% packet loss"), told.out.npos) << told.out;
    }
}

INSTANTIATE_TEST_SUITE_P(All, Bypass, testing::Values(Way::local, Way::bridged, Way::routed),
                         [](const auto &info) {
                             return info.param == Way::local     ? "Local"
                                    : info.param == Way::bridged ? "Bridged"
                                                                 : "Routed";
                         });

TEST(BypassFrames, LeaveByteIdenticalAndAreCounted) {
    Testbed bed{{.way = Way::bridged}};
    PacketSocket worker(bed.worker, "eth0"), server(bed.server(), "eth0");
    bed.attach();
    const auto before = bed.olaf.status()["bypassed"];
    const Update update{};
    auto foreign = ipv4().carrying(random_bytes(300, 7));
    foreign.bytes[12] = 0x88; // EtherType of local experiments
    foreign.bytes[13] = 0xb5;
    auto other_magic = ipv4().carrying(update);
    other_magic.bytes[other_magic.message] ^= 0xff;
    const Frame frames[] = {
        foreign,
        ipv4().port(6524).carrying(update),
        other_magic,
        with_ip(ipv4().carrying(update), 6, 0x2000, 2), // a fragment
        ipv6().routing().carrying(update),
        ipv4().vlan(3).carrying(Ack{.cluster = 1, .lanes = {1, 2, 3}}),
        ipv6().service_vlan(8).vlan(3).carrying(control_message()),
        ipv4().vlan(1).port(53).carrying(random_bytes(900, 8)),
    };
    for (const auto &frame : frames) {
        worker.send(frame);
        for (bool found = false; !found;) {
            const auto got = server.poll(patience);
            ASSERT_TRUE(got) << hex(frame.bytes);
            found = *got == frame.bytes; // the hosts' own IPv6 chatter may come between
        }
    }
    const auto status = bed.olaf.status();
    EXPECT_GE(status["bypassed"] - before, std::size(frames));
    EXPECT_EQ(status["received"], 0u);
    EXPECT_EQ(status["malformed"], 0u);
}

} // namespace
} // namespace olaf::test::bypass_test
