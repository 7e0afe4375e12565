// SPDX-License-Identifier: BSD-2-Clause
// The way out is not there: what waits goes on waiting and folding, and leaves when it is back.
#include <gtest/gtest.h>

#include <set>

#include "traffic.hpp"

namespace olaf::test::outage_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Clock = std::chrono::steady_clock;

struct Case {
    const char *name;
    Way way;
    int family = 4;
    const char *mode = "native";
};

std::string name_of(const testing::TestParamInfo<Case> &info) { return info.param.name; }

class Outage : public testing::TestWithParam<Case> {
  protected:
    void attach(std::vector<std::string> more = {}) {
        more.insert(more.end(), {"--mode", GetParam().mode, "--policy", "aggregate"});
        bed.attach(more);
    }

    /// Updates of nine clusters, in turn, one worker each.
    void send(std::uint32_t count, std::uint32_t from = 0) {
        for (std::uint32_t i = from; i < from + count; i++) {
            const Update update{.cluster = i % clusters, .sequence = i};
            worker.send(update, bed.target(family));
            sent.add(update);
        }
    }

    /// What the server gets until it has so many updates.
    Tally receive(std::uint64_t updates) {
        Tally tally;
        while (tally.updates < updates)
            tally.add(server.receive().update());
        return tally;
    }

    std::uint64_t lost(const Status &status) {
        std::uint64_t sum = 0;
        for (const auto &[place, updates] : status.json.at("lost_behind_updates").items())
            sum += updates.is_null() ? 0 : updates.get<std::uint64_t>();
        return sum;
    }

    static constexpr std::uint32_t clusters = 9;
    int family = GetParam().family;
    Testbed bed{{.way = GetParam().way, .server_known = false}};
    UdpSocket worker{bed.worker, Testbed::worker_peer(family)};
    UdpSocket server{bed.server(), Testbed::server_peer(family)};
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
    const auto began = Clock::now();
    send(200);
    auto status = bed.olaf.await([](const Status &s) { return s["received"] == 200; });
    EXPECT_EQ(status["updates_waiting"], 200u);
    EXPECT_EQ(status["updates_out"], 0u);
    EXPECT_EQ(status.queue("length"), clusters);
    // Three seconds of it: nobody's payload is on the wire, nor more than a question a second and
    // the kernel's own.
    std::size_t asked = 0;
    while (Clock::now() < began + seconds(3))
        if (const auto frame = wire.poll(milliseconds(100))) {
            if (frame->at(0) == 0x33 && frame->at(5) == 0x16)
                continue; // the kernel's own: which groups it listens to
            std::string why;
            EXPECT_FALSE(parse_update(*frame, &why)) << hex(*frame);
            EXPECT_LE(frame->size(), 110u) << hex(*frame);
            asked++;
        }
    EXPECT_GE(asked, 1u);
    send(200, 200);
    status = bed.olaf.await([](const Status &s) { return s["received"] == 400; });
    EXPECT_EQ(status["updates_waiting"], 400u);
    EXPECT_EQ(status.queue("length"), clusters);

    bed.server().ip("link set eth0 address " + text(server_mac) + "\n");
    bed.server().ip("link set eth0 arp on\n");
    EXPECT_EQ(receive(400).clusters, sent.clusters);
    status = bed.olaf.await_drained(400);
    EXPECT_EQ(status["updates_out"], 400u);
    EXPECT_EQ(status["departed"], clusters);
    EXPECT_EQ(status.failed(), 0u);
    expect_identities(status);
}

INSTANTIATE_TEST_SUITE_P(All, SilentNextHop,
                         testing::Values(Case{"Routed4", Way::routed, 4},
                                         Case{"Routed6", Way::routed, 6},
                                         Case{"RoutedGeneric4", Way::routed, 4, "skb"},
                                         Case{"Upstream4", Way::upstream4, 4},
                                         Case{"Upstream6", Way::upstream6, 6},
                                         Case{"UpstreamGeneric6", Way::upstream6, 6, "skb"}),
                         name_of);

class OutputDown : public Outage {};

/// The server's host reboots: the link is down for a while, under load.
TEST_P(OutputDown, UpdatesWaitAndFoldAndTheNewestOfEachClusterLeavesFirst) {
    attach();
    send(20);
    receive(20);
    bed.server().ip("link set eth0 down\n");
    // Those under way when the link went are lost, and counted.
    std::uint32_t next = 20;
    bed.olaf.await([&](const Status &s) {
        send(9, next);
        next += 9;
        return s["updates_waiting"] >= 9;
    });
    auto status = bed.olaf.await([&](const Status &s) { return s["received"] == next; });
    const auto out = status["updates_out"];
    const auto gone = lost(status);
    EXPECT_EQ(out, 20 + gone);
    send(400, next);
    status = bed.olaf.await([&](const Status &s) { return s["received"] == next + 400; });
    EXPECT_EQ(status["updates_out"], out) << "nothing leaves, nothing is risked";
    EXPECT_EQ(status["dropped_full"], 0u);
    EXPECT_LE(status.queue("length"), 2 * clusters);
    expect_identities(status);

    bed.server().ip("link set eth0 up\n");
    if (bed.wiring.way != Way::bridged)
        bed.server().ip("address replace fd00:0:0:1::2/64 dev eth0 nodad\n"
                        "route replace default via 10.0.1.254\n"
                        "route replace ::/0 via fd00:0:0:1::fe\n");
    const auto waited = status["updates_waiting"];
    std::set<std::uint32_t> heard;
    Tally tally;
    while (tally.updates < waited) {
        const auto update = server.receive().update();
        tally.add(update);
        if (heard.size() < clusters) {
            EXPECT_TRUE(heard.insert(update.cluster).second) << "each cluster's aggregate, once";
        }
    }
    EXPECT_EQ(heard.size(), clusters);
    status = bed.olaf.await_drained(next + 400);
    EXPECT_EQ(status["updates_out"], 20 + waited + lost(status));
    expect_identities(status);
}

INSTANTIATE_TEST_SUITE_P(All, OutputDown,
                         testing::Values(Case{"Bridged", Way::bridged},
                                         Case{"BridgedGeneric", Way::bridged, 4, "skb"},
                                         Case{"Routed4", Way::routed, 4},
                                         Case{"Routed6", Way::routed, 6},
                                         Case{"Upstream4", Way::upstream4, 4}),
                         name_of);

class DeadServer : public Outage {};

TEST_P(DeadServer, BlocksNobodyElseAndOrderHoldsForEach) {
    attach({"--rate", "1mbit"});
    bed.server().ip("address add 10.0.1.3/24 dev eth0\n"
                    "address add fd00:0:0:1::3/64 dev eth0 nodad\n");
    const auto dead = family == 4 ? Peer{.address = "10.0.1.9"}
                                  : Peer{.address = "fd00:0:0:1::9"};
    for (std::uint32_t cluster = 20; cluster < 24; cluster++)
        worker.send(Update{.cluster = cluster}, dead);
    bed.olaf.await([](const Status &s) { return s["updates_waiting"] == 4; });
    for (std::uint32_t i = 0; i < 300; i++)
        worker.send(Update{.cluster = 100 + i % 50, .worker = i, .sequence = i},
                    bed.target(family));
    std::uint64_t updates = 0;
    std::vector<std::uint32_t> first_heard;
    while (updates < 300) {
        const auto update = server.receive().update();
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
                         testing::Values(Case{"Routed4", Way::routed, 4},
                                         Case{"Routed6", Way::routed, 6},
                                         Case{"RoutedGeneric4", Way::routed, 4, "skb"}),
                         name_of);

class SilentMove : public Outage {};

TEST_P(SilentMove, OfTheNextHopToAnotherMacAddressHealsWithinTenSeconds) {
    attach();
    send(20);
    receive(20);
    // It says nothing of it, and has forgotten whom it knew.
    bed.server().ip("link set eth0 address 02:00:00:00:00:78\n");
    const auto moved = Clock::now();
    bool heard = false;
    for (std::uint32_t next = 20; !heard; next += 9) {
        ASSERT_LT(Clock::now() - moved, seconds(10));
        send(9, next);
        heard = server.poll(milliseconds(50)).has_value();
    }
}

INSTANTIATE_TEST_SUITE_P(All, SilentMove,
                         testing::Values(Case{"Routed4", Way::routed, 4},
                                         Case{"Routed6", Way::routed, 6},
                                         Case{"Upstream4", Way::upstream4, 4},
                                         Case{"UpstreamGeneric6", Way::upstream6, 6, "skb"}),
                         name_of);

} // namespace
} // namespace olaf::test::outage_test
