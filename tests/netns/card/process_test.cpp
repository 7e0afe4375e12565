// SPDX-License-Identifier: BSD-2-Clause
// olaf-card as what stands in for a card: frames through its devices, registers in its file. No loader.
#include <gtest/gtest.h>

#include <csignal>

#include "loader/host/clock.hpp"
#include "../sockets.hpp"
#include "../traffic.hpp"

namespace olaf::test::process_test {
namespace {

class CardProcessTest : public testing::Test {
  protected:
    /// Sends it and waits until it is on the other side, byte for byte. Throws WaitRanOut.
    static void expect_through(const PacketSocket &from, const PacketSocket &to, const Frame &frame) {
        from.send(frame);
        while (const auto got = to.poll(patience))
            if (*got == frame.bytes) // hosts have things to say as well
                return;
        throw WaitRanOut("the frame " + hex(frame.bytes));
    }

    Testbed bed{{.mtu = 9000, .place = Place::card}};
    CardProcess &card = *bed.card;
    PacketSocket worker{bed.worker, "eth0"}, server{bed.host, "in"};
};

Frame of_type(std::uint16_t type, std::size_t bytes) {
    auto frame = ipv4().carrying(random_bytes(bytes, type));
    set_be(frame.bytes, 12, type, 2);
    return frame;
}

TEST_F(CardProcessTest, PassesWhatIsNoUpdateByteIdenticalBothWays) {
    const Frame frames[] = {
        of_type(0x88b5, 1000),
        of_type(0x0806, 18), // ARP of some sort
        ipv4().carrying(random_bytes(1, 1)),
        ipv6().hop_by_hop().carrying(Update{}),
        ipv4().vlan(7).port(53).carrying(random_bytes(300, 2)),
        ipv6().vlan(7).carrying(random_bytes(1400, 3)),
        ipv4().service_vlan(8).vlan(7).port(53).carrying(random_bytes(700, 4)),
        with_ip(ipv4().carrying(Update{}), 6, 0x2000, 2), // a fragment
    };
    for (const bool queueing : {false, true}) {
        if (queueing) {
            ASSERT_TRUE(card.turn_on(1'000'000));
        }
        for (const auto &frame : frames) {
            expect_through(worker, server, frame);
            expect_through(server, worker, frame);
        }
    }
}

TEST_F(CardProcessTest, CompletesChecksumsThatWereLeftToTheDevice) {
    set_offloads(bed.worker, "eth0", {.tx_checksum = true, .tx_vlan = true});
    ASSERT_TRUE(card.turn_on(1'000'000));
    const UdpSocket from(bed.worker, Testbed::worker_peer(4));
    for (std::uint32_t i = 0; i < 4; i++) {
        const Update update{.cluster = i, .lanes = {i, 2, 3}};
        from.send(update, bed.target(4));
        EXPECT_EQ(server.receive_update().update, update); // throws on a wrong checksum
    }
    EXPECT_EQ(card.counter(OLAF_CARD_malformed + unsigned{OLAF_MALFORMED_UDP_CHECKSUM}), 0u);
}

TEST_F(CardProcessTest, FoldsWhatWaitsAndKeepsOrderAndPace) {
    constexpr std::uint64_t rate = 130'000;
    ASSERT_TRUE(card.turn_on(rate));
    const UdpSocket from(bed.worker, Testbed::worker_peer(4)), to(bed.host, Testbed::server_peer(4));
    const auto began = static_cast<std::int64_t>(realtime_ns());
    occupy(bed, from, to);
    for (const std::uint32_t cluster : {4u, 2u, 3u})
        from.send(Update{.cluster = cluster, .worker = 1, .lanes = {1}}, bed.target(4));
    for (const std::uint32_t cluster : {3u, 4u})
        from.send(Update{.cluster = cluster, .worker = 2, .lanes = {10}}, bed.target(4));
    std::int64_t left = 0; // the last of them
    for (const std::uint32_t cluster : {4u, 2u, 3u}) {
        const auto got = to.receive();
        EXPECT_EQ(got.update().cluster, cluster);
        EXPECT_EQ(got.update().lanes[0], cluster == 2 ? 1u : 11u);
        EXPECT_EQ(got.update().count, cluster == 2 ? 1u : 2u);
        left = got.timestamp_ns;
    }
    const auto bits = 8 * bed.path().carrying(Update{.lanes = {1}}).size();
    const auto serialisation = static_cast<std::int64_t>(bits * 1'000'000'000 / rate);
    // Two frames were on the link before the last one. The first may have used saved credit.
    EXPECT_GE(left - began, 2 * serialisation);
    EXPECT_EQ(card.counter(OLAF_CARD_received), 7u);
    EXPECT_EQ(card.counter(OLAF_CARD_aggregated), 2u);
    EXPECT_EQ(card.counter(OLAF_CARD_passed_through), 1u);
    EXPECT_EQ(card.counter(OLAF_CARD_departed_drain), 4u);
    const auto slot = OLAF_REGISTER_SLOT_COUNTER + OLAF_REGISTER_STRIDE_SLOT_COUNTER * 4u;
    EXPECT_EQ(card.read64(slot + 8 * OLAF_CARD_SLOT_aggregated), 1u);
    EXPECT_EQ(card.read(OLAF_REGISTER_STATUS), 1u | 2u | 8u) << "ready, queueing, empty";
}

TEST_F(CardProcessTest, StampsAcksOnTheirWayBack) {
    card.write(OLAF_REGISTER_QUEUE_CAPACITY, 5);
    ASSERT_TRUE(card.turn_on(1'000'000));
    expect_through(worker, server, bed.path().carrying(Update{.cluster = 3}));
    server.send(answer(ipv4()).carrying(Ack{.cluster = 3, .lanes = {7}}));
    for (;;) {
        const auto got = worker.poll(patience);
        ASSERT_TRUE(got);
        const auto ack = parse_ack(*got);
        if (!ack)
            continue;
        EXPECT_EQ(ack->ack.state_flags, OLAF_FLAG_STAMPED);
        EXPECT_EQ(ack->ack.active_clusters, 1u);
        EXPECT_EQ(ack->ack.queue_capacity, 5u);
        EXPECT_EQ(ack->ack.lanes, std::vector<std::uint64_t>{7});
        break;
    }
    EXPECT_EQ(card.counter(OLAF_CARD_acks_stamped), 1u);
}

TEST_F(CardProcessTest, ARuleOfWhichOneWordChangesTakesEffectAtTheFence) {
    const auto at = OLAF_REGISTER_RULE + OLAF_REGISTER_STRIDE_RULE * 6u;
    EXPECT_EQ(card.read(at + 4), std::uint32_t{OLAF_DEFAULT_MAX_COUNT});
    card.write(at, OLAF_POLICY_FIFO);
    ASSERT_TRUE(card.turn_on(130'000));
    const UdpSocket from(bed.worker, Testbed::worker_peer(4)), to(bed.host, Testbed::server_peer(4));
    occupy(bed, from, to);
    for (const std::uint32_t cluster : {6u, 7u})
        for (const std::uint32_t one : {1u, 2u})
            from.send(Update{.cluster = cluster, .worker = one}, bed.target(4));
    for (const std::uint32_t cluster : {6u, 6u, 7u}) {
        const auto update = to.receive().update();
        EXPECT_EQ(update.cluster, cluster);
        EXPECT_EQ(update.count, cluster == 6 ? 1u : 2u);
    }
}

TEST_F(CardProcessTest, RefusesACommitBeyondItsCapabilitiesAndStaysAsItWas) {
    ASSERT_TRUE(card.turn_on(1'000'000));
    card.write(OLAF_REGISTER_QUEUE_CAPACITY, card.read(OLAF_REGISTER_PLACES) + 1);
    EXPECT_FALSE(card.turn_on(1'000'000));
    EXPECT_EQ(card.read(OLAF_REGISTER_STATUS) & 6, 6u) << "refused, but queueing";
}

TEST_F(CardProcessTest, ReadsAsAllOnesOnceItHasEndedAndComesBackAsAfterAReset) {
    ASSERT_TRUE(card.turn_on(1'000'000));
    EXPECT_EQ(card.end(SIGTERM).status, 0);
    std::size_t others = 0;
    for (std::uint32_t at = 0; at < OLAF_CARD_WINDOW; at += 4)
        others += card.read(at) != UINT32_MAX;
    EXPECT_EQ(others, 0u);
    card.start();
    EXPECT_EQ(card.read(OLAF_REGISTER_MAGIC), std::uint32_t{OLAF_CARD_MAGIC});
    EXPECT_EQ(card.read(OLAF_REGISTER_STATUS), 1u | 8u) << "ready, off, empty";
    expect_through(worker, server, bed.path().carrying(Update{}));
    ASSERT_TRUE(card.turn_on(1'000'000));
    expect_through(worker, server, bed.path().carrying(Update{}));
    EXPECT_EQ(card.counter(OLAF_CARD_received), 1u);
}

TEST_F(CardProcessTest, KilledAnswersNoFenceUntilItIsStartedAgain) {
    card.end(SIGKILL);
    EXPECT_EQ(card.read(OLAF_REGISTER_MAGIC), std::uint32_t{OLAF_CARD_MAGIC}) << "nobody was left to say so";
    EXPECT_FALSE(card.fence(std::chrono::milliseconds(50)));
    card.start();
    EXPECT_TRUE(card.fence());
    expect_through(worker, server, of_type(0x88b5, 60));
}

TEST_F(CardProcessTest, PulledLeavesItsRegistersAloneAndPassesFrames) {
    for (std::uint32_t at = 0; at < 0x1000; at += 4)
        card.write(at, UINT32_MAX);
    EXPECT_FALSE(card.fence(std::chrono::milliseconds(50)));
    EXPECT_EQ(card.read(OLAF_REGISTER_STATUS), UINT32_MAX);
    expect_through(worker, server, of_type(0x88b5, 60));
}

TEST_F(CardProcessTest, RefusesAFileThatAnotherOneHas) {
    const auto second = run(card.command(), {}, &card.netns());
    EXPECT_EQ(second.status, 1);
    EXPECT_EQ(second.err, "olaf-card: another olaf-card has " + card.bar() +
                              ": end it, or name another file\n");
    EXPECT_TRUE(card.fence()) << "and leaves the first alone";
}

TEST_F(CardProcessTest, DropsWhatItsSenderLeftUncutAndSaysSo) {
    set_offloads(bed.worker, "eth0", {.tx_checksum = true});
    bed.worker.ip("link set eth0 gso_max_segs 64\n");
    const UdpSocket from(bed.worker, Testbed::worker_peer(4));
    from.send_uncut(Update{.lanes = std::vector<std::uint64_t>(100, 1)}, 3, bed.target(4));
    card.await_output("ethtool -K DEV tso off");
}

} // namespace
} // namespace olaf::test::process_test
