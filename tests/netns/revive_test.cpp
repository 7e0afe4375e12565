// SPDX-License-Identifier: BSD-2-Clause
// The drain's token is lost while updates wait, and no further update comes: any frame through the
// queue's device replaces it, whichever way it goes, and arrives itself as it was.
#include <gtest/gtest.h>

#include "tcp.hpp"
#include "traffic.hpp"

namespace olaf::test::revive_test {
namespace {

struct Setting {
    const char *name;
    std::vector<std::string> arguments;
};

class Revive : public testing::TestWithParam<Setting> {
  protected:
    /// One update waits, and its token is gone: what stands in the drain is purged with it.
    void lose_the_token() {
        // Nothing moves but what a test sends: no hosts' own reports and solicitations.
        bed.host.sysctl("ipv6/conf/in/disable_ipv6", "1");
        bed.worker.sysctl("ipv6/conf/eth0/disable_ipv6", "1");
        // So slow that the update still waits when its token is gone.
        std::vector<std::string> arguments = {"--rate", "5kbit"};
        arguments.insert(arguments.end(), GetParam().arguments.begin(), GetParam().arguments.end());
        bed.attach(arguments);
        occupy(bed, worker, server);
        worker.send(Update{.cluster = 1}, bed.target(4));
        bed.olaf.await([](const Status &s) { return s.drain("launched") == 1; });
        const auto drain = bed.olaf.status().json["drain"]["device"].get<std::string>();
        bed.host.ip("link set " + drain + " down\nlink set " + drain + " up\n");
        launched = 1;
    }
    /// The frame is seen again and again, for the token isn't late from the first moment.
    void expect_revived_by(const std::function<void()> &frame) {
        await(
            [&] {
                frame();
                return bed.olaf.status().drain("launched") != launched;
            },
            [] { return "a new token"; });
        EXPECT_EQ(server.receive().update().cluster, 1u);
        const auto status = bed.olaf.await_drained(3);
        EXPECT_EQ(status["departed_drain"], 1u);
        EXPECT_EQ(status.drain("launched"), launched + 1);
        expect_identities(status);
    }

    Testbed bed;
    UdpSocket worker{bed.worker, Testbed::worker_peer(4)};
    UdpSocket server{bed.server(), Testbed::server_peer(4)};
    std::uint64_t launched = 0;
};

TEST_P(Revive, ByAFrameThatOnlyComesIn) {
    lose_the_token();
    const PacketSocket wire(bed.worker, "eth0");
    Bytes frame(60, 0x5a);
    std::copy(server_mac.begin(), server_mac.end(), frame.begin());
    std::copy(worker_mac.begin(), worker_mac.end(), frame.begin() + 6);
    frame[12] = 0x88; // an EtherType for experiments
    frame[13] = 0xb5;
    const PacketSocket host(bed.host, "in");
    expect_revived_by([&] {
        wire.send(frame);
        auto came = host.poll(std::chrono::seconds(1));
        while (came && came->at(12) != 0x88) // the worker's own multicast reports
            came = host.poll(std::chrono::seconds(1));
        ASSERT_TRUE(came);
        EXPECT_EQ(*came, frame);
    });
}

TEST_P(Revive, ByAFrameThatOnlyLeaves) {
    lose_the_token();
    bed.host.ip("neighbour add 10.0.0.9 lladdr 02:00:00:00:00:99 dev in nud permanent\n");
    const UdpSocket host(bed.host, {.address = "10.0.1.2", .port = 9999});
    const PacketSocket wire(bed.worker, "eth0");
    expect_revived_by([&] {
        host.send(Bytes(100, 0x5a), {.address = "10.0.0.9", .port = 9});
        auto left = wire.poll(std::chrono::seconds(1));
        while (left && left->at(12) == 0x86) // the host's own multicast reports, IPv6
            left = wire.poll(std::chrono::seconds(1));
        ASSERT_TRUE(left);
        EXPECT_EQ(left->size(), 142u);
        EXPECT_EQ(left->at(12), 0x08); // nothing of a token is left in it
        EXPECT_EQ(left->at(14), 0x45);
    });
}

TEST_P(Revive, ByTcpSegmentsHoweverLargeWhichArriveUnharmed) {
    set_offloads(bed.worker, "eth0", {.tx_checksum = true});
    set_offloads(bed.host, "in", {.tx_checksum = true});
    lose_the_token();
    const auto there = random_bytes(300'000, 1), back = random_bytes(300'000, 2);
    expect_revived_by([&] {
        const auto exchanged = exchange_by_tcp(bed.worker, bed.host, Testbed::server_peer(4), there,
                                               back);
        EXPECT_EQ(exchanged.there, there);
        EXPECT_EQ(exchanged.back, back);
    });
}

TEST(ReviveIdle, AnEmptyQueueLaunchesNothing) {
    Testbed bed;
    bed.attach();
    const auto there = random_bytes(100'000, 1);
    exchange_by_tcp(bed.worker, bed.host, Testbed::server_peer(4), there, there);
    EXPECT_EQ(bed.olaf.status().drain("launched"), 0u);
}

INSTANTIATE_TEST_SUITE_P(All, Revive,
                         testing::Values(Setting{"Native", {"--mode", "native"}},
                                         Setting{"Generic", {"--mode", "skb"}},
                                         Setting{"SlowDrain", {"--drain-interval", "200ms"}}),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
} // namespace olaf::test::revive_test
