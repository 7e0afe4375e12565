// SPDX-License-Identifier: BSD-2-Clause
// The way out is not there, not known yet, or another one.
#include <gtest/gtest.h>

#include <set>

#include "traffic.hpp"

namespace olaf::test::outage_test {
namespace {

// The way out is not there: what waits goes on waiting and folding, and leaves when it is back.

using std::chrono::milliseconds;

class Outage : public testing::TestWithParam<Route> {
  protected:
    void attach(const std::vector<std::string> &more = {}) {
        bed.attach(joined({"--mode", GetParam().mode, "--policy", "aggregate"}, more));
    }

    /// Updates of nine clusters, in turn, one worker each.
    void send(std::uint32_t count, std::uint32_t from = 0) {
        for (std::uint32_t i = from; i < from + count; i++) {
            const Update update{.cluster = i % clusters, .sequence = i};
            bed.send(update);
            sent.add(update);
        }
    }

    static constexpr std::uint32_t clusters = 9;
    SocketBed bed{{.way = GetParam().way, .server_known = false}, GetParam().family};
    Tally sent;
};

class SilentNextHop : public Outage {};

TEST_P(SilentNextHop, UpdatesWaitAndFoldAndAllLeaveWhenItAnswers) {
    attach();
    bed.server().ip("link set eth0 arp off\n");
    bed.server().ip("link set eth0 address 02:00:00:00:00:77\n"); // forgets, and is deaf to the old
    bed.host.ip("neighbour flush dev out\n");
    const PacketSocket wire(bed.server(), "eth0");
    bed.server().ip("link set eth0 promisc on\n");
    send(200);
    auto status = bed.olaf.await([](const Status &s) { return s["received"] == 200; });
    EXPECT_EQ(status["updates_waiting"], 200u);
    EXPECT_EQ(status["updates_out"], 0u);
    EXPECT_EQ(status.queue("length"), clusters);
    // Nobody's payload is on the wire: questions, in between much of the time nothing.
    std::size_t asked = 0;
    for (int nothing = 0; nothing < 30;) {
        const auto frame = wire.poll(milliseconds(100));
        if (!frame)
            nothing++;
        else if (frame->at(0) != 0x33 ||
                 frame->at(5) != 0x16) { // nor the kernel's: which groups it listens to
            std::string why;
            EXPECT_FALSE(parse_update(*frame, &why)) << hex(*frame);
            EXPECT_LE(frame->size(), 110u) << hex(*frame);
            asked++;
        }
    }
    EXPECT_GE(asked, 1u);
    send(200, 200);
    status = bed.olaf.await([](const Status &s) { return s["received"] == 400; });
    EXPECT_EQ(status["updates_waiting"], 400u);
    EXPECT_EQ(status.queue("length"), clusters);

    bed.server().ip("link set eth0 address " + text(server_mac) + "\n");
    bed.server().ip("link set eth0 arp on\n");
    bed.expect_arrival(sent);
    status = bed.olaf.await_drained(400);
    EXPECT_EQ(status["updates_out"], 400u);
    EXPECT_EQ(status["departed"], clusters);
    EXPECT_EQ(status.failed(), 0u);
    expect_identities(status);
}

INSTANTIATE_TEST_SUITE_P(All, SilentNextHop,
                         testing::Values(Route{"Routed4", Way::routed, 4},
                                         Route{"Routed6", Way::routed, 6},
                                         Route{"RoutedGeneric4", Way::routed, 4, "skb"},
                                         Route{"Upstream4", Way::upstream4, 4},
                                         Route{"Upstream6", Way::upstream6, 6},
                                         Route{"UpstreamGeneric6", Way::upstream6, 6, "skb"}),
                         by_name);

class OutputDown : public Outage {};

/// The server's host reboots: the link is down for a while, under load.
TEST_P(OutputDown, UpdatesWaitAndFoldAndTheNewestOfEachClusterLeavesFirst) {
    attach();
    send(20);
    bed.receive(20);
    bed.unplug_cable();
    // Those under way when the link went are lost, and counted.
    std::uint32_t next = 20;
    bed.olaf.await([&](const Status &s) {
        send(9, next);
        next += 9;
        return s["updates_waiting"] >= 9;
    });
    auto status = bed.olaf.await([&](const Status &s) { return s["received"] == next; });
    const auto out = status["updates_out"];
    const auto gone = status.lost_behind();
    EXPECT_EQ(out, 20 + gone);
    send(400, next);
    status = bed.olaf.await([&](const Status &s) { return s["received"] == next + 400; });
    EXPECT_EQ(status["updates_out"], out) << "nothing leaves, nothing is risked";
    EXPECT_EQ(status["dropped_full"], 0u);
    EXPECT_LE(status.queue("length"), 2 * clusters);
    expect_identities(status);

    bed.plug_cable();
    const auto waited = status["updates_waiting"];
    std::set<std::uint32_t> heard;
    Tally tally;
    while (tally.updates < waited) {
        const auto update = bed.receive();
        tally.add(update);
        if (heard.size() < clusters) {
            EXPECT_TRUE(heard.insert(update.cluster).second) << "each cluster's aggregate, once";
        }
    }
    EXPECT_EQ(heard.size(), clusters);
    status = bed.olaf.await_drained(next + 400);
    EXPECT_EQ(status["updates_out"], 20 + waited + status.lost_behind());
    expect_identities(status);
}

INSTANTIATE_TEST_SUITE_P(All, OutputDown,
                         testing::Values(Route{"Bridged", Way::bridged},
                                         Route{"BridgedGeneric", Way::bridged, 4, "skb"},
                                         Route{"Routed4", Way::routed, 4},
                                         Route{"Routed6", Way::routed, 6},
                                         Route{"Upstream4", Way::upstream4, 4}),
                         by_name);

class DeadServer : public Outage {};

TEST_P(DeadServer, BlocksNobodyElseAndOrderHoldsForEach) {
    attach({"--rate", "1mbit"});
    bed.server().ip("address add 10.0.1.3/24 dev eth0\n"
                    "address add fd00:0:0:1::3/64 dev eth0 nodad\n");
    const auto dead =
        bed.family == 4 ? Peer{.address = "10.0.1.9"} : Peer{.address = "fd00:0:0:1::9"};
    for (std::uint32_t cluster = 20; cluster < 24; cluster++)
        bed.from.send(Update{.cluster = cluster}, dead);
    bed.olaf.await([](const Status &s) { return s["updates_waiting"] == 4; });
    for (std::uint32_t i = 0; i < 300; i++)
        bed.send(Update{.cluster = 100 + i % 50, .worker = i, .sequence = i});
    std::uint64_t updates = 0;
    std::vector<std::uint32_t> first_heard;
    while (updates < 300) {
        const auto update = bed.receive();
        updates += update.count;
        if (first_heard.size() < 50)
            first_heard.push_back(update.cluster);
    }
    EXPECT_TRUE(std::ranges::is_sorted(first_heard));
    const auto status = bed.olaf.await([](const Status &s) { return s["updates_out"] == 300; });
    EXPECT_EQ(status["updates_waiting"], 4u);
    EXPECT_EQ(status.failed(), 0u);
    expect_identities(status);

    // It comes to life: what waited for it arrives in order.
    bed.server().ip("address add 10.0.1.9/24 dev eth0\n"
                    "address add fd00:0:0:1::9/64 dev eth0 nodad\n");
    const UdpSocket revived(bed.server(), dead);
    for (std::uint32_t cluster = 20; cluster < 24; cluster++)
        EXPECT_EQ(revived.receive().update().cluster, cluster);
    EXPECT_EQ(bed.olaf.await_drained(304)["updates_out"], 304u);
}

INSTANTIATE_TEST_SUITE_P(All, DeadServer,
                         testing::Values(Route{"Routed4", Way::routed, 4},
                                         Route{"Routed6", Way::routed, 6},
                                         Route{"RoutedGeneric4", Way::routed, 4, "skb"}),
                         by_name);

class SilentMove : public Outage {};

// Each burst that isn't heard is waited for: all together that takes ten seconds, or more on a busy
// machine.
TEST_P(SilentMove, OfTheNextHopToAnotherMacAddressHealsWithinTenSeconds) {
    attach();
    send(20);
    bed.receive(20);
    // It says nothing of it, and has forgotten whom it knew.
    bed.server().ip("link set eth0 address 02:00:00:00:00:78\n");
    unsigned bursts = 0;
    do {
        ASSERT_LT(bursts, 200u) << "of which none was heard";
        send(9, 20 + 9 * bursts++);
    } while (!bed.to.poll(milliseconds(50)));
}

INSTANTIATE_TEST_SUITE_P(All, SilentMove,
                         testing::Values(Route{"Routed4", Way::routed, 4},
                                         Route{"Routed6", Way::routed, 6},
                                         Route{"Upstream4", Way::upstream4, 4},
                                         Route{"UpstreamGeneric6", Way::upstream6, 6, "skb"}),
                         by_name);

// ---- neighbour ----
// Next hops that the host doesn't know yet, or that change.

class Neighbour : public testing::TestWithParam<Route> {
  protected:
    SocketBed bed{{.way = GetParam().way, .server_known = false}, GetParam().family};
};

TEST_P(Neighbour, DeparturesWaitUntilItIsResolved) {
    bed.attach({"--policy", "aggregate"});
    // Attaching upstream asks for the neighbour at once: forget the answer.
    bed.host.ip("neighbour flush dev out\n");
    bed.expect_arrival(bed.send(random_updates(20, 5, 8, 11)));
    const auto status = bed.olaf.await_drained(20);
    EXPECT_EQ(status["updates_out"], 20u);
    EXPECT_EQ(status.failed(), 0u);
    EXPECT_GE(status["departed_drain"], 1u);
    expect_identities(status);
    const auto told = run({"ip", "-n", bed.host.name(), "neighbour", "show", "dev", "out"});
    EXPECT_TRUE(says(told.out, text(server_mac)));
}

TEST_P(Neighbour, AChangeOfItsMacIsFollowed) {
    bed.attach();
    const PacketSocket wire(bed.server(), "eth0");
    const Mac moved = {2, 0, 0, 0, 0, 0x77};
    for (const auto &mac : {server_mac, moved}) {
        const auto who = Testbed::server_peer(bed.family).address + " lladdr " + text(mac);
        bed.server().ip("link set eth0 address " + text(mac) + "\n");
        bed.host.ip("neighbour replace " + who + " dev out nud permanent\n");
        // Within the life of a cached answer, 100 ms a cluster, departures go to the new address.
        await(
            [&] {
                bed.send(Update{.cluster = 1});
                const auto got = wire.receive_update();
                return std::equal(mac.begin(), mac.end(), got.frame.bytes.begin());
            },
            [] { return "a departure to the new address"; });
        // And it is the server's own, so its socket hears it.
        while (bed.to.poll(std::chrono::milliseconds(0)))
            ;
        bed.send(Update{.cluster = 1, .sequence = 2});
        EXPECT_EQ(bed.receive().sequence, 2u);
        EXPECT_EQ(wire.receive_update().update.sequence, 2u);
    }
}

INSTANTIATE_TEST_SUITE_P(All, Neighbour,
                         testing::Values(Route{"Routed4", Way::routed, 4},
                                         Route{"Routed6", Way::routed, 6},
                                         Route{"Upstream4", Way::upstream4, 4},
                                         Route{"Upstream6", Way::upstream6, 6}),
                         by_name);

} // namespace
} // namespace olaf::test::outage_test
