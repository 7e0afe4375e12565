// SPDX-License-Identifier: BSD-2-Clause
// Where departures go: out of a device, through the kernel's routes, or upstream.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "loader/host/clock.hpp"
#include "olaf/own.h"
#include "olaf/way.h"
#include "queue_test.hpp"
#include "testbed.hpp"
#include "upstream.hpp"

namespace olaf::test::deliver_test {
namespace {

constexpr Mac our_mac = {2, 0, 0, 0, 2, 2};

olaf::DatapathConfig forwarding(const Testbed &net, std::uint32_t ifindex) {
    auto config = small_queue();
    config.deliver = OLAF_DELIVER_FORWARD;
    config.ifindex = ifindex;
    config.egress_ifindex = net.near;
    config.mac = our_mac;
    return config;
}

/// The namespace must be there before the queue.
class Forward : private InTestbed, public QueueTest {
  protected:
    Forward() : QueueTest(forwarding(net, net.far)) {}
    Mac next_hop = net.next_hop_mac, egress = net.near_mac;
};

TEST_F(Forward, BridgedFramesPassThroughUnchanged) {
    queue.link_free();
    for (const auto &path : {ipv4(), ipv6(), ipv4().vlan(7).options(8)}) {
        Frame frame = path.carrying(Update{.cluster = 1});
        expect_sent(queue.offer(frame), frame.bytes, XDP_REDIRECT);
    }
}

TEST_F(Forward, BridgedDeparturesRideOutOfTheEgressDevice) {
    append(ipv6().vlan(7).carrying(Update{.cluster = 1}));
    queue.link_free();
    expect_sent(queue.offer(ipv4().carrying(Update{.cluster = 2})),
                ipv6().vlan(7).carrying(Update{.cluster = 1}).bytes, XDP_REDIRECT);
}

TEST_F(Forward, APartialChecksumOfALocalSocketIsFinished) {
    queue.link_free();
    for (const auto &path : {ipv4(), ipv6()}) {
        const Frame finished = path.carrying(Update{.cluster = 1});
        expect_sent(queue.offer(partial(finished)), finished.bytes, XDP_REDIRECT);
    }
}

TEST_F(Forward, RoutedDeparturesGetTheNextHopAndOneHopLess) {
    for (const auto &path : {ipv4().ttl(64), ipv4().ttl(255).options(4), ipv6().ttl(9)}) {
        queue.reset();
        auto ours = Path(path).to(our_mac).target(2);
        append(ours.carrying(Update{.cluster = 1}));
        queue.link_free();
        auto ran = queue.offer(Path(ours).carrying(Update{.cluster = 2}));
        Frame sent = ours.carrying(Update{.cluster = 1});
        int ttl_at = sent.family == 4 ? 8 : 7;
        auto ttl = static_cast<std::uint8_t>(sent.bytes[sent.l3 + ttl_at] - 1);
        sent = Path(path).to(next_hop).from(egress).target(2).ttl(ttl).carrying(Update{.cluster = 1});
        expect_sent(ran, sent.bytes, XDP_REDIRECT);
    }
}

TEST_F(Forward, ARoutedPassageIsRoutedToo) {
    queue.link_free();
    auto sent = ipv4().to(next_hop).from(egress).ttl(63);
    expect_sent(queue.offer(ipv4().to(our_mac).carrying(Update{.cluster = 1})),
                sent.carrying(Update{.cluster = 1}).bytes, XDP_REDIRECT);
}

TEST_F(Forward, ARoutedUpdateOnItsLastHopGoesToTheStackWhichAnswers) {
    queue.link_free();
    for (const auto &path : {ipv4().ttl(1), ipv4().ttl(0), ipv6().ttl(1)}) {
        Frame last = Path(path).to(our_mac).target(2).carrying(Update{.cluster = 1});
        auto ran = queue.offer(last);
        EXPECT_EQ(ran.verdict, XDP_PASS);
        EXPECT_EQ(ran.bytes, last.bytes);
    }
    EXPECT_EQ(queue.totals().bypassed, 3u);
    EXPECT_EQ(queue.totals().received, 0u);
}

TEST_F(Forward, WithoutARouteAnUpdateWaits) {
    queue.link_free();
    queue.set_drain_deadline(UINT64_MAX / 2);
    Frame lost = ipv4().to(our_mac).target(99).carrying(Update{.cluster = 1}); // no neighbour
    EXPECT_EQ(queue.offer(lost).verdict, XDP_DROP);
    EXPECT_EQ(queue.waiting().size(), 1u);
    EXPECT_EQ(queue.totals().appended, 1u);
}

TEST_F(Forward, AHeadWithoutARouteRidesInNothing) {
    append(ipv4().to(our_mac).target(99).carrying(Update{.cluster = 1})); // no neighbour
    queue.link_free();
    Frame other = ipv4().to(our_mac).target(2).carrying(Update{.cluster = 2});
    EXPECT_EQ(queue.offer(other).verdict, XDP_DROP);
    EXPECT_EQ(queue.waiting().size(), 2u);
    EXPECT_EQ(queue.totals().updates_out, 0u);
}

TEST_F(Forward, WhatIsAddressedToThisHostGoesToItsStack) {
    queue.link_free();
    for (const auto &path : {ipv4(), ipv6()}) {
        Frame mine = Path(path).to(our_mac).carrying(Update{.cluster = 1});
        queue.own(mine);
        auto ran = queue.offer(mine);
        EXPECT_EQ(ran.verdict, XDP_PASS);
        EXPECT_EQ(hex(ran.bytes), hex(mine.bytes));
    }
    EXPECT_EQ(queue.counters().bypassed[OLAF_BYPASS_FOREIGN], 2u);
    EXPECT_EQ(queue.totals().received, 0u);
}

/// Of a device on top of the queue's, as VRRP makes one.
TEST_F(Forward, WhatComesToAnotherMacAddressOfThisHostIsRouted) {
    const Mac another = {2, 0, 0, 0, 2, 9};
    const auto offer = [&] {
        queue.link_free();
        return queue.offer(ipv4().to(another).target(2).carrying(Update{.cluster = 1}));
    };
    const auto bridged = offer().bytes;
    EXPECT_EQ(hex(std::span(bridged).first(6)), hex(another)) << "bridged";
    const olaf_own_mac key{.mac = {2, 0, 0, 0, 2, 9}, .pad = {}};
    queue.write("olaf_own_macs", key, 0u);
    // Another frame comes between: what a CPU knows of the last MAC address holds for a moment.
    queue.offer(ipv4().to(our_mac).target(2).carrying(Update{.cluster = 1}));
    expect_sent(offer(),
                ipv4().to(next_hop).from(egress).target(2).ttl(63).carrying(Update{.cluster = 1}).bytes,
                XDP_REDIRECT);
}

/// The output refuses what XDP redirects, and the drain sends (bpf/way/xdp_gate.bpf.h).
class XdpGate : public Forward {
  protected:
    static constexpr std::uint64_t second = 1'000'000'000;

    /// Every CPU's, as if this had been so long ago.
    void shut(std::uint64_t refused_ago, std::optional<std::uint64_t> asked_ago = {}) {
        const auto now = monotonic_ns();
        const std::vector gates(static_cast<std::size_t>(libbpf_num_possible_cpus()),
                                olaf_xdp_gate{.refused_ns = now - refused_ago,
                                              .asked_ns = asked_ago ? now - *asked_ago : 0,
                                              .wait_ns = second,
                                              .error = -ENXIO,
                                              .pad = 0});
        const std::uint32_t key = 0;
        ASSERT_EQ(bpf_map_update_elem(queue.queue().map_fd("olaf_xdp_gate"), &key, gates.data(), BPF_ANY), 0);
    }
    const Frame update = ipv4().carrying(Update{.cluster = 1, .lanes = lanes_of(16)});
};

TEST_F(XdpGate, LetsNothingPassOrRideWhileItIsShut) {
    shut(second / 2);
    queue.link_free();
    EXPECT_STREQ(verdict_name(queue.offer(update).verdict), "XDP_DROP");
    EXPECT_STREQ(verdict_name(queue.offer(ipv4().carrying(Update{.cluster = 2})).verdict), "XDP_DROP");
    EXPECT_EQ(queue.totals().appended, 2u);
    EXPECT_EQ(queue.totals().updates_out, 0u);
}

TEST_F(XdpGate, AsksByAFrameThatHoldsNothingOnceItsTimeHasCome) {
    shut(2 * second);
    const auto ran = queue.offer(update);
    Bytes probe(ran.bytes.size(), 0);
    const Bytes head = {0x01, 0x80, 0xc2, 0, 0, 0x0e};
    std::ranges::copy(head, probe.begin());
    std::ranges::copy(queue.config().drain_mac, probe.begin() + 6);
    probe[12] = 0x88;
    probe[13] = 0xb5;
    expect_sent(ran, probe, XDP_REDIRECT);
    EXPECT_LT(ran.bytes.size(), update.bytes.size());
    EXPECT_EQ(queue.counters().gate_probes, 1u);
    EXPECT_EQ(queue.totals().updates_out, 0u);
    EXPECT_EQ(queue.totals().appended, 1u);
    EXPECT_STREQ(verdict_name(queue.offer(update).verdict), "XDP_DROP") << "a probe is under way";
}

TEST_F(XdpGate, OpensWhenNothingWasHeardOfAProbe) {
    shut(2 * second, second);
    queue.link_free();
    expect_sent(queue.offer(update), update.bytes, XDP_REDIRECT);
    EXPECT_EQ(queue.counters().gate_probes, 0u);
}

class OneArmed : private InTestbed, public QueueTest {
  protected:
    OneArmed() : QueueTest(forwarding(net, net.near)) {}
};

TEST_F(OneArmed, TransmitsWhereItReceived) {
    queue.link_free();
    Frame frame = ipv4().carrying(Update{.cluster = 1});
    expect_sent(queue.offer(frame), frame.bytes, XDP_REDIRECT);
}

/// From host 5 to host 2, whose next hop the testbed knows.
olaf::DatapathConfig upstream(const Testbed &net, int family) {
    auto config = upstream_of(forwarding(net, net.far), net.near, family);
    config.ifindex = net.far;
    config.source = host_of_servers(family, 5);
    config.upstream = host_of_servers(family, 2);
    return config;
}

class Upstream : private InTestbed, public QueueTest, public testing::WithParamInterface<int> {
  protected:
    Upstream() : QueueTest(upstream(net, GetParam())) {}

    /// What this host sends: new headers, whatever the update came with.
    Bytes sent(const Update &update) {
        auto path = (GetParam() == 4 ? ipv4() : ipv6()).among_servers().source(5).target(2);
        path.to(net.next_hop_mac).from(net.near_mac);
        return path.id(0).source_port(6523).port(7000).carrying(update).bytes;
    }
};

TEST_P(Upstream, DeparturesAndPassagesAreThisHostsOwn) {
    for (const auto &path : {ipv4(), ipv6(), ipv4().vlan(1).vlan(2).options(40),
                             ipv6().vlan(1).hop_by_hop(16)}) {
        queue.reset();
        queue.link_free();
        expect_sent(queue.offer(path.carrying(Update{.cluster = 1})), sent({.cluster = 1}),
                    XDP_REDIRECT);
        append(path.carrying(Update{.cluster = 1, .lanes = lanes_of(20)}));
        queue.link_free();
        expect_sent(queue.offer(path.carrying(Update{.cluster = 2})),
                    sent({.cluster = 1, .lanes = lanes_of(20)}), XDP_REDIRECT);
    }
}

INSTANTIATE_TEST_SUITE_P(Families, Upstream, testing::Values(4, 6),
                         [](const auto &info) { return "ipv" + std::to_string(info.param); });

} // namespace
} // namespace olaf::test::deliver_test
