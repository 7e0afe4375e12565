// SPDX-License-Identifier: BSD-2-Clause
// ACKs from above: turned round to the workers, with the queue's state, and with the window.
#include <algorithm>

#include "ack_test.hpp"
#include "testbed.hpp"
#include "upstream.hpp"
#include "window_test.hpp"

namespace olaf::test::turnround_test {
namespace {

// ---- An ACK from the upstream server goes back to its workers, the way that their updates came.

class Turnround : public CopyTest, public testing::WithParamInterface<int> {
  protected:
    Turnround() : CopyTest([](const Testbed &net) {
        return upstream_of(acknowledging_queue(), net.near, GetParam());
    }) {}

    static Path from_upstream() { return olaf::test::from_upstream(GetParam()); }
    /// Sends to host 2 of the servers' network (this host has more addresses than one).
    static Someone someone(std::uint32_t worker, int family) {
        auto made = olaf::test::someone(worker, family);
        // Identification and flow label don't survive a change of the IP version: none here.
        made.ack.from(own_mac).ttl(29).id(0);
        return made;
    }
    Ran arrive(const Frame &frame) {
        return run_tc(queue.queue().program_fd("olaf_ack_return"), frame.bytes);
    }
    void stays(const Frame &frame) {
        const auto ran = arrive(frame);
        EXPECT_EQ(ran.verdict, tc_unspec);
        EXPECT_EQ(hex(ran.bytes), hex(frame.bytes));
        EXPECT_TRUE(out.empty());
    }
};

TEST_P(Turnround, EveryWorkerIsSentItsOwnWhateverItsIpVersion) {
    std::vector<Someone> workers{someone(1, 4), someone(2, 6), someone(3, 4), someone(4, 6),
                                 someone(5, 4), someone(6, 6)};
    for (const auto index : {2u, 3u})
        for (auto *path : {&workers[index].update, &workers[index].ack})
            path->vlan(100);
    for (const auto index : {4u, 5u})
        for (auto *path : {&workers[index].update, &workers[index].ack})
            path->service_vlan(200).vlan(100);
    for (const auto &worker : workers)
        hear(worker);
    EXPECT_EQ(arrive(from_upstream().carrying(ack)).verdict,
              static_cast<std::uint32_t>(TC_ACT_STOLEN));
    for (const auto &worker : workers) {
        const auto copy = out.next();
        ASSERT_TRUE(copy);
        EXPECT_EQ(hex(*copy), hex(to(worker, ack))) << worker.worker;
    }
    EXPECT_TRUE(out.empty());
    EXPECT_EQ(queue.ack_counters().copies, workers.size());
}

TEST_P(Turnround, OneWorkersAckGoesToItAlone) {
    for (const int family : {4, 6}) {
        const auto first = 10 * static_cast<std::uint32_t>(family);
        hear(someone(first, family));
        hear(someone(first + 1, family));
        auto mine = ack;
        mine.worker = first + 1;
        EXPECT_EQ(arrive(from_upstream().carrying(mine)).verdict,
                  static_cast<std::uint32_t>(TC_ACT_STOLEN));
        EXPECT_EQ(hex(*out.next()), hex(to(someone(first + 1, family), mine)));
        EXPECT_TRUE(out.empty());
    }
}

TEST_P(Turnround, WhatIsForNobodyWeKnowGoesUpTheStack) {
    const auto path = from_upstream();
    auto ran = arrive(path.carrying(ack));
    EXPECT_EQ(ran.verdict, tc_unspec);
    EXPECT_EQ(hex(ran.bytes), hex(path.carrying(stamped(ack, 0, 4, 0)).bytes));
    hear(someone(1, 4));
    auto other = ack;
    other.worker = 3;
    EXPECT_EQ(arrive(path.carrying(other)).verdict, tc_unspec);
    EXPECT_TRUE(out.empty());
}

TEST_P(Turnround, OnlyTheUpstreamServersAcksToThisQueue) {
    hear(someone(1, 4));
    const auto path = from_upstream();
    stays(Path(path).source(8).carrying(ack));
    EXPECT_EQ(queue.ack_counters().foreign, 1u);
    stays(Path(path).target(3).carrying(ack));
    stays(Path(path).port(6524).carrying(ack));
    stays(Path(path).source_port(6523).carrying(ack));
    stays(Path(path).ttl(1).carrying(ack)); // or two such hosts could send one round for ever
    stays(path.carrying(Update{}));
    stays(path.carrying(control_message()));
    EXPECT_EQ(queue.ack_counters().foreign, 1u); // the others are not for this queue, or no ACKs
}

TEST_P(Turnround, AnAddressAndPortGetsOneCopy) {
    for (const int family : {4, 6})
        for (const std::uint32_t worker : {1u, 2u, 3u}) {
            auto same = someone(static_cast<std::uint32_t>(family), family);
            same.worker = 10 * static_cast<std::uint32_t>(family) + worker;
            hear(same);
        }
    arrive(from_upstream().carrying(ack));
    EXPECT_EQ(parse_ack(*out.next())->ack.worker, 41u);
    EXPECT_EQ(parse_ack(*out.next())->ack.worker, 61u);
    EXPECT_TRUE(out.empty());
}

/// The way back is the one that updates came by: who has sent none has none.
TEST_P(Turnround, ARegisteredWorkerThatWasNeverHeardGetsNone) {
    hear(someone(3, 4));
    auto registered = queue.member(cluster, 3);
    registered.addr_be[0] = htonl(0x0a0000c8);
    registered.flags = OLAF_MEMBER_REGISTERED | OLAF_MEMBER_PORT_BOUND;
    registered.last_seen_ns = 0;
    queue.set_member(cluster, 2, registered);
    EXPECT_EQ(arrive(from_upstream().carrying(ack)).verdict,
              static_cast<std::uint32_t>(TC_ACT_STOLEN));
    EXPECT_EQ(hex(*out.next()), hex(to(someone(3, 4), ack)));
    EXPECT_TRUE(out.empty());
    EXPECT_EQ(queue.ack_counters().copies_unreachable, 1u);
}

/// They can't be said in the other IP version.
TEST_P(Turnround, WithOptionsOrExtensionsItStaysWithinItsIpVersion) {
    hear(someone(4, 4));
    hear(someone(6, 6));
    auto path = from_upstream();
    GetParam() == 4 ? path.options(40) : path.hop_by_hop(24);
    EXPECT_EQ(arrive(path.carrying(ack)).verdict, static_cast<std::uint32_t>(TC_ACT_STOLEN));
    const auto copy = out.next();
    ASSERT_TRUE(copy);
    EXPECT_EQ(parse_ack(*copy)->ack.worker, static_cast<std::uint32_t>(GetParam()));
    EXPECT_TRUE(out.empty());
    EXPECT_EQ(queue.ack_counters().copies_unreachable, 1u);
}

class TurnroundFrom4 : public Turnround {};

/// IPv6 needs a checksum, and of this ACK nobody has computed one.
TEST_P(TurnroundFrom4, WithoutAChecksumItStaysWithinIpv4) {
    hear(someone(1, 4));
    hear(someone(2, 6));
    auto first = someone(1, 4);
    first.ack.without_udp_checksum();
    arrive(from_upstream().without_udp_checksum().carrying(ack));
    EXPECT_EQ(hex(*out.next()), hex(to(first, ack)));
    EXPECT_TRUE(out.empty());
    EXPECT_EQ(queue.ack_counters().copies_unreachable, 1u);
}

INSTANTIATE_TEST_SUITE_P(Ip, Turnround, testing::Values(4, 6), by_version);

INSTANTIATE_TEST_SUITE_P(Ip, TurnroundFrom4, testing::Values(4));

// ---- The window of a queue that delivers upstream: the ACK comes in by TC ingress, opens the window,
// sets off the next departure, and goes on to its worker unharmed.

constexpr std::uint32_t stolen = TC_ACT_STOLEN;

/// The ACK's clones and its copies both come in at the far end: a kick first.
olaf::DatapathConfig config_for(const Testbed &net, int family) {
    auto config = upstream_of(windowed_queue({.most = 2}), net.near, family);
    config.upstream = host_of_servers(family, 2); // whose next hop the testbed knows
    config.drain_ifindex = net.far;
    config.kick_ifindex = net.near;
    config.activity_window_ns = 3'600'000'000'000;
    return config;
}

class TurnroundWindow : private InTestbed,
                        public WindowTest,
                        public testing::WithParamInterface<int> {
  protected:
    TurnroundWindow() : WindowTest(config_for(net, GetParam())), out(net.far) {
        queue.set_drain_deadline(UINT64_MAX / 2);
    }

    /// Sends `count` updates of one cluster each: two are in flight then, the others wait.
    void fill(std::uint32_t count) {
        for (std::uint32_t i = 0; i < count; i++) {
            sent.push_back(fresh(i));
            queue.offer(ipv4().carrying(sent.back()));
        }
        ASSERT_EQ(queue.window().in_flight, 2u);
    }
    Ran arrive(const Path &path, const Ack &ack) {
        return run_tc(queue.queue().program_fd("olaf_ack_return"), path.carrying(ack).bytes);
    }
    /// A frame that the drain takes for a kick begins with IPv4 and the queue's secret.
    [[nodiscard]] bool is_kick(const Bytes &frame) const {
        const auto token = token_of(queue);
        return std::ranges::equal(std::span(frame).subspan(12, 10), std::span(token).subspan(12, 10));
    }
    Ack to_worker(const Update &update, std::uint32_t waiting) const {
        return stamped(ack_of(update), static_cast<std::uint16_t>(sent.size()), 4, waiting);
    }

    const Path upstream = from_upstream(GetParam()).source(2);
    Capture out;
    std::vector<Update> sent;
};

TEST_P(TurnroundWindow, AnAckOpensItAndGoesOnToItsWorker) {
    fill(2);
    EXPECT_EQ(arrive(upstream, ack_of(sent[0])).verdict, stolen);
    EXPECT_EQ(queue.window().in_flight, 1u);
    EXPECT_EQ(queue.window().acked, 1u);
    const auto copy = out.next();
    ASSERT_TRUE(copy);
    EXPECT_FALSE(is_kick(*copy)); // nothing waited
    EXPECT_EQ(parse_ack(*copy)->ack, to_worker(sent[0], 0));
    EXPECT_TRUE(out.empty());
}

TEST_P(TurnroundWindow, AnAckSetsOffWhatWaitsAndIsUnharmed) {
    fill(3);
    EXPECT_EQ(arrive(upstream, ack_of(sent[1])).verdict, stolen);
    const auto kick = out.next(), copy = out.next();
    ASSERT_TRUE(kick && copy);
    EXPECT_TRUE(is_kick(*kick));
    EXPECT_EQ(parse_ack(*copy)->ack, to_worker(sent[1], 1));
    EXPECT_TRUE(out.empty());
}

TEST_P(TurnroundWindow, OnlyTheServersAcksOpenIt) {
    fill(3);
    EXPECT_EQ(arrive(Path(upstream).source(8), ack_of(sent[0])).verdict, tc_unspec);
    EXPECT_EQ(arrive(Path(upstream).ttl(1), ack_of(sent[0])).verdict, tc_unspec);
    auto forged = ack_of(sent[0]);
    forged.generated_ns++;
    arrive(upstream, forged); // goes to its worker, who will know it for what it is
    EXPECT_EQ(queue.window().in_flight, 2u);
    EXPECT_EQ(queue.window().acked, 0u);
    EXPECT_EQ(queue.window().unmatched, 1u);
    const auto copy = out.next();
    EXPECT_TRUE(copy && !is_kick(*copy));
    EXPECT_TRUE(out.empty());
}

INSTANTIATE_TEST_SUITE_P(Ip, TurnroundWindow, testing::Values(4, 6), by_version);

} // namespace
} // namespace olaf::test::turnround_test
