// SPDX-License-Identifier: BSD-2-Clause
// Two queues in a row behind a worker whose sockets leave the checksum to the device: in generic
// mode each skb remembers that to the end, so whatever leaves in one must come out right.
//
//     worker eth0 ── in[first]out ── in[second]out ── eth0 server
#include <gtest/gtest.h>

#include "traffic.hpp"

namespace olaf::test::two_hops_test {
namespace {

struct Case {
    const char *name;
    int family;
    bool upstream;    ///< each hop sends from its own address; else they are routers
    bool tx_checksum; ///< the hops' devices finish checksums
    const char *near_mode, *far_mode;
};

class TwoHops : public testing::TestWithParam<Case> {
  protected:
    Netns worker{"worker"}, first{"first"}, second{"second"}, server{"server"};
    OlafCommand near{first, "in"}, far{second, "in"};

    TwoHops() {
        link(worker, "eth0", first, "in", 0, {.tx_checksum = true});
        link(first, "out", second, "in", 2, {.tx_checksum = GetParam().tx_checksum});
        link(second, "out", server, "eth0", 1, {.tx_checksum = GetParam().tx_checksum});
        for (const auto *hop : {&first, &second}) {
            hop->sysctl("ipv4/ip_forward", "1");
            hop->sysctl("ipv6/conf/all/forwarding", "1");
        }
        route(worker, "default", "::/0", 0, 2);
        route(first, "10.0.1.0/24", "fd00:0:0:1::/64", 2, 2);
        route(second, "10.0.0.0/24", "fd00::/64", 2, 1);
        route(server, "default", "::/0", 1, 1);
    }

    /// A network of two hosts, .1 and .2, that know each other.
    static void link(const Netns &left, const std::string &left_device, const Netns &right,
                     const std::string &right_device, int network, const Offloads &offloads) {
        const auto number = std::to_string(network);
        const auto mac = [&](int host) {
            return "02:00:00:00:0" + number + ":0" + std::to_string(host);
        };
        left.ip("link add name " + left_device + " address " + mac(1) + " type veth peer name " +
                right_device + " address " + mac(2) + " netns " + right.name() + "\n");
        // Before they are up: later, a veth doesn't become fit for redirected frames.
        set_offloads(left, left_device, offloads);
        set_offloads(right, right_device, offloads);
        for (int host : {1, 2}) {
            const auto &netns = host == 1 ? left : right;
            const auto &device = host == 1 ? left_device : right_device;
            const auto here = std::to_string(host), there = std::to_string(3 - host);
            const auto six = "fd00:0:0:" + number + "::";
            netns.ip("link set " + device + " up\n" +
                     "address add 10.0." + number + "." + here + "/24 dev " + device + "\n" +
                     "address add " + six + here + "/64 dev " + device + " nodad\n" +
                     "neighbour add 10.0." + number + "." + there + " lladdr " + mac(3 - host) +
                     " dev " + device + " nud permanent\n" +
                     "neighbour add " + six + there + " lladdr " + mac(3 - host) + " dev " +
                     device + " nud permanent\n");
        }
        left.await_links();
        right.await_links();
    }

    static void route(const Netns &netns, const std::string &to4, const std::string &to6,
                      int network, int host) {
        const auto number = std::to_string(network), gate = std::to_string(host);
        netns.ip("route add " + to4 + " via 10.0." + number + "." + gate + "\n" +
                 "route add " + to6 + " via fd00:0:0:" + number + "::" + gate + "\n");
    }

    [[nodiscard]] static Peer peer(int network, int host, std::uint16_t port = OLAF_DEFAULT_PORT) {
        const auto number = std::to_string(network), last = std::to_string(host);
        return {.address = GetParam().family == 4 ? "10.0." + number + "." + last
                                                  : "fd00:0:0:" + number + "::" + last,
                .port = port};
    }

    void attach(const std::string &rate) {
        std::vector<std::string> here{"--forward", "out"}, there{"--forward", "out"};
        if (GetParam().upstream) {
            here = {"--upstream", peer(2, 2).address};
            there = {"--upstream", peer(1, 2).address};
        }
        here.insert(here.end(), {"--mode", GetParam().near_mode});
        there.insert(there.end(), {"--mode", GetParam().far_mode});
        for (auto *arguments : {&here, &there})
            arguments->insert(arguments->end(), {"--rate", rate, "--policy", "aggregate"});
        near.attach(here);
        far.attach(there);
    }
};

TEST_P(TwoHops, EveryUpdateArrivesWithARightChecksum) {
    attach("3mbit");
    const UdpSocket from(worker, peer(0, 1, 0)), to(server, peer(1, 2));
    Collector collector(to);
    const auto updates = random_updates(400, 5, 20, 61);
    Tally sent;
    for (std::size_t i = 0; i < updates.size(); i++) {
        from.send(updates[i], GetParam().upstream ? peer(0, 2) : peer(1, 2));
        sent.add(updates[i]);
        if (i % 40 == 39) // now and then the link is free: some pass through
            (void)near.await_drained(i + 1);
    }
    EXPECT_EQ(collector.await(400).clusters, sent.clusters);
    for (const char *counter : {"UdpInCsumErrors", "Udp6InCsumErrors", "UdpInErrors"})
        EXPECT_EQ(server.snmp(counter), 0u) << counter;
    for (const auto &hop : {near.status(), far.status()}) {
        // The kernel keeps generic XDP from what a drain of the same host sent by veth.
        if (std::string(GetParam().far_mode) == "native") {
            EXPECT_EQ(hop["updates_out"], 400u);
        }
        EXPECT_EQ(hop["malformed"], 0u);
        expect_identities(hop);
    }
}

INSTANTIATE_TEST_SUITE_P(
    All, TwoHops,
    testing::Values(Case{"Routed4", 4, false, true, "skb", "skb"},
                    Case{"Routed6", 6, false, true, "skb", "skb"},
                    Case{"RoutedToNative4", 4, false, true, "skb", "native"},
                    Case{"RoutedToNative6", 6, false, true, "skb", "native"},
                    Case{"RoutedWithoutOffload4", 4, false, false, "skb", "native"},
                    Case{"RoutedWithoutOffload6", 6, false, false, "skb", "native"},
                    Case{"Upstream4", 4, true, true, "skb", "native"},
                    Case{"Upstream6", 6, true, true, "skb", "native"},
                    Case{"UpstreamWithoutOffload4", 4, true, false, "skb", "native"},
                    Case{"RoutedNative4", 4, false, true, "native", "native"},
                    Case{"UpstreamNative6", 6, true, true, "native", "native"}),
    by_name);

class TwoFastHops : public TwoHops {};

/// So fast that nearly every frame finds a departure due.
TEST_P(TwoFastHops, NoDepartureRidesInAFrameWhoseChecksumIsPartial) {
    attach("30mbit");
    const UdpSocket from(worker, peer(0, 1, 0)), to(server, peer(1, 2));
    Collector collector(to);
    const auto updates = random_updates(3000, 5, 20, 62);
    std::uint64_t sent = 0;
    for (const auto &update : updates) {
        from.send(update, GetParam().upstream ? peer(0, 2) : peer(1, 2));
        // A veth's backlog holds 1,000 frames, and loses what comes while its CPU does something else.
        if (++sent % 250 == 0)
            near.await([&](const Status &s) { return s["received"] == sent; });
    }
    collector.await(updates.size());
    EXPECT_EQ(near.status()["departed_riding"], 0u);
    EXPECT_EQ(near.status()["updates_out"], updates.size());
    for (const char *counter : {"UdpInCsumErrors", "Udp6InCsumErrors", "UdpInErrors"})
        EXPECT_EQ(server.snmp(counter), 0u) << counter;
}

INSTANTIATE_TEST_SUITE_P(All, TwoFastHops,
                         testing::Values(Case{"Routed4", 4, false, true, "skb", "native"},
                                         Case{"Routed6", 6, false, true, "skb", "native"},
                                         Case{"Upstream4", 4, true, true, "skb", "native"},
                                         Case{"Upstream6", 6, true, true, "skb", "native"}),
                         by_name);

} // namespace
} // namespace olaf::test::two_hops_test
