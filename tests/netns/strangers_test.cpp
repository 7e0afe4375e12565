// SPDX-License-Identifier: BSD-2-Clause
// Strangers on a real network: forged updates turn no ACKs, and forged ACKs reach nobody else.
#include <gtest/gtest.h>

#include "fleet.hpp"

namespace olaf::test::strangers_test {
namespace {

class StrangersOf : public testing::TestWithParam<int> {
  protected:
    StrangersOf() { bed.attach({"--activity-window", "3600s"}); }

    [[nodiscard]] int family() const { return GetParam(); }
    /// An update in the name of whoever has that host's address, and that port.
    void forge(std::uint8_t host, std::uint16_t port, std::uint32_t worker) {
        forger.send(bed.path(family()).source(host).source_port(port).carrying(
            Update{.cluster = 1, .worker = worker}));
    }
    void await_received(std::uint64_t updates) {
        bed.olaf.await([&](const Status &status) { return status["received"] == updates; });
    }
    [[nodiscard]] nlohmann::json acks() { return bed.olaf.status().json["acks"]; }

    Testbed bed{{.way = Way::bridged}};
    const PacketSocket forger{bed.worker, "eth0"};
    const UdpSocket server{bed.server(), Testbed::server_peer(family())};
};

TEST_P(StrangersOf, ManyForgedIdsSendTheirVictimOneCopyOfAnAck) {
    const UdpSocket worker(bed.worker, Testbed::worker_peer(family()));
    const UdpSocket victim(bed.worker, Testbed::worker_peer(family()));
    worker.send(Update{.cluster = 1, .worker = 0}, bed.target(family()));
    for (std::uint32_t id = 1; id <= 50; id++)
        forge(1, victim.port(), id);
    await_received(51);
    server.send(Ack{.cluster = 1}, Testbed::worker_peer(family(), worker.port()));
    EXPECT_EQ(worker.receive().ack().worker, 0u);
    EXPECT_EQ(victim.receive().ack().worker, 1u);
    EXPECT_EQ(acks()["copies"], 1);
    EXPECT_EQ(acks()["copies_shared"], 49);
    EXPECT_FALSE(victim.poll(std::chrono::milliseconds(0)));
}

TEST_P(StrangersOf, AForgedUpdateTakesNoWorkersAcks) {
    const UdpSocket one(bed.worker, Testbed::worker_peer(family()));
    const UdpSocket two(bed.worker, Testbed::worker_peer(family()));
    one.send(Update{.cluster = 1, .worker = 1}, bed.target(family()));
    two.send(Update{.cluster = 1, .worker = 2}, bed.target(family()));
    await_received(2);
    forge(77, two.port(), 2);
    forge(1, 7777, 2);
    await_received(4);
    EXPECT_EQ(acks()["takeovers_refused"], 2);
    server.send(Ack{.cluster = 1}, Testbed::worker_peer(family(), one.port()));
    EXPECT_EQ(one.receive().ack().worker, 1u);
    EXPECT_EQ(two.receive().ack().worker, 2u);
}

TEST_P(StrangersOf, AStrangersAckReachesItsAddresseeAloneAndUnstamped) {
    const UdpSocket one(bed.worker, Testbed::worker_peer(family()));
    const UdpSocket two(bed.worker, Testbed::worker_peer(family()));
    one.send(Update{.cluster = 1, .worker = 1}, bed.target(family()));
    two.send(Update{.cluster = 1, .worker = 2}, bed.target(family()));
    await_received(2);
    const PacketSocket stranger(bed.server(), "eth0");
    stranger.send(answer(family() == 4 ? ipv4() : ipv6())
                      .source(9)
                      .port(one.port())
                      .carrying(Ack{.cluster = 1, .sequence = 666}));
    const auto got = one.receive().ack();
    EXPECT_EQ(got.sequence, 666u);
    EXPECT_EQ(got.worker, OLAF_EVERY_WORKER);
    EXPECT_EQ(got.state_flags, 0);
    EXPECT_EQ(acks()["foreign"], 1);
    // The server's own goes to both: what two hears first is that.
    server.send(Ack{.cluster = 1, .sequence = 7}, Testbed::worker_peer(family(), one.port()));
    EXPECT_EQ(two.receive().ack().sequence, 7u);
    EXPECT_EQ(one.receive().ack().state_flags, OLAF_FLAG_STAMPED);
}

INSTANTIATE_TEST_SUITE_P(Ip, StrangersOf, testing::Values(4, 6),
                         [](const auto &info) { return std::string(info.param == 4 ? "v4" : "v6"); });

} // namespace
} // namespace olaf::test::strangers_test
