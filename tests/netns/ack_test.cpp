// SPDX-License-Identifier: BSD-2-Clause
// The way back between real sockets: every worker of a cluster hears its own ACK, stamped.
#include <gtest/gtest.h>

#include <set>

#include "fleet.hpp"
#include "traces.hpp"

namespace olaf::test::ack_test {
namespace {

struct Case {
    const char *name;
    Way way;
    int family;             ///< of the workers
    bool partial = false;   ///< the server's device is left the checksum
    const char *mode = "auto";
};

class Acks : public testing::TestWithParam<Case> {
  protected:
    Acks() {
        if (GetParam().partial)
            set_offloads(bed.server(), bed.server_device(), {.tx_checksum = true});
    }

    /// Where the server sends an ACK for everybody in the cluster.
    [[nodiscard]] Peer addressee(std::uint32_t cluster, std::uint32_t worker) const {
        if (bed.upstream())
            return {.address = outer == 4 ? "10.0.1.254" : "fd00:0:0:1::fe"};
        return fleet.peer(cluster, worker);
    }
    void expect_no_errors() const {
        for (const auto *counter : {"UdpInCsumErrors", "Udp6InCsumErrors", "UdpInErrors"})
            EXPECT_EQ(bed.worker.snmp(counter), 0u) << counter;
        const auto status = bed.olaf.status();
        for (const auto *counter : {"copies_refused", "copies_unreachable", "copies_unfit"})
            EXPECT_EQ(status.counted("acks", counter), 0u) << counter;
    }

    Testbed bed{{.way = GetParam().way}};
    int family = GetParam().family;
    int outer = bed.wiring.way == Way::upstream4   ? 4
                : bed.wiring.way == Way::upstream6 ? 6
                                                   : family;
    Fleet fleet{bed, family};
    UdpSocket server{bed.server(), Testbed::server_peer(outer)};
};

TEST_P(Acks, EveryWorkerOfAClusterGetsItsOwnStamped) {
    const auto before = traces(bed.host);
    bed.attach({"--mode", GetParam().mode, "--queue", "2", "--activity-window", "3600s"});
    fleet.speak();
    std::uint64_t copies = 0;
    for (std::uint32_t cluster = 0; cluster < clusters; cluster++)
        for (const std::size_t lanes : {0u, 5u, 170u}) {
            const Ack ack{.cluster = cluster,
                          .sequence = 1000 + cluster,
                          .model_version = 7,
                          .lanes = std::vector<std::uint64_t>(lanes, 0x0123456789abcdef)};
            server.send(ack, addressee(cluster, 2));
            copies += workers - (bed.upstream() ? 0 : 1);
            fleet.expect_own(cluster, [&](const Ack &got) {
                EXPECT_EQ(got.state_flags, OLAF_FLAG_STAMPED | OLAF_FLAG_CONGESTED);
                EXPECT_EQ(got.active_clusters, clusters);
                EXPECT_EQ(got.queue_capacity, 2u);
                EXPECT_EQ(got.queue_length, 0u);
                EXPECT_EQ(got.sequence, ack.sequence);
                EXPECT_EQ(got.model_version, ack.model_version);
                EXPECT_EQ(got.lanes, ack.lanes);
            });
        }
    EXPECT_EQ(bed.olaf.status().json["acks"]["copies"], copies);
    expect_no_errors();
    bed.olaf.detach();
    EXPECT_EQ(traces(bed.host), before);
}

TEST_P(Acks, OneForOneWorkerReachesItAlone) {
    bed.attach({"--mode", GetParam().mode, "--activity-window", "1000s"}); // a card has 1099 at most
    fleet.speak();
    for (std::uint32_t worker = 0; worker < workers; worker++) {
        server.send(Ack{.cluster = 1, .worker = worker}, addressee(1, worker));
        const auto ack = fleet.at(1, worker).receive().ack();
        EXPECT_EQ(ack.worker, worker);
        EXPECT_EQ(ack.active_clusters, clusters);
    }
    // Those that should hear nothing have had the time to hear something.
    for (std::uint32_t worker = 0; worker < workers; worker++)
        EXPECT_FALSE(fleet.at(1, worker).poll(std::chrono::milliseconds(0)));
    expect_no_errors();
}

INSTANTIATE_TEST_SUITE_P(
    All, Acks,
    testing::Values(Case{"Local4", Way::local, 4}, Case{"Local6", Way::local, 6},
                    Case{"LocalGeneric4", Way::local, 4, false, "skb"},
                    Case{"Bridged4", Way::bridged, 4}, Case{"Bridged6", Way::bridged, 6},
                    Case{"BridgedPartialChecksum4", Way::bridged, 4, true},
                    Case{"BridgedPartialChecksum6", Way::bridged, 6, true},
                    Case{"RoutedPartialChecksum4", Way::routed, 4, true},
                    Case{"Routed6", Way::routed, 6}, Case{"OneArmed4", Way::one_armed, 4},
                    Case{"Upstream4", Way::upstream4, 4}, Case{"Upstream6", Way::upstream6, 6},
                    Case{"Upstream4From6", Way::upstream4, 6},
                    Case{"Upstream6From4", Way::upstream6, 4},
                    Case{"Upstream4PartialChecksum", Way::upstream4, 4, true},
                    Case{"Upstream6From4PartialChecksum", Way::upstream6, 4, true},
                    Case{"UpstreamGeneric4", Way::upstream4, 4, false, "skb"}),
    [](const auto &info) { return std::string(info.param.name); });

/// The kernel keeps the outermost tag beside the frame as soon as that has come in.
TEST(AckVlan, CopiesCarryTheTagsOfTheirWorkers) {
    Testbed bed{{.way = Way::bridged}};
    bed.attach({"--queue", "4", "--activity-window", "3600s"});
    const PacketSocket workers_side(bed.worker, "eth0"), server_side(bed.server(), "eth0");
    const auto tagged = [](Path path, std::uint32_t worker) {
        return worker == 3 ? path.service_vlan(9).vlan(7) : path.vlan(worker == 2 ? 8 : 7);
    };
    for (std::uint32_t worker = 1; worker <= 3; worker++)
        workers_side.send(tagged(bed.path(), worker)
                              .source_port(static_cast<std::uint16_t>(5000 + worker))
                              .carrying(Update{.worker = worker}));
    bed.olaf.await([](const Status &status) { return status["received"] == 3; });
    for (std::uint32_t addressee = 1; addressee <= 3; addressee++) {
        const auto path = [&](std::uint32_t worker) {
            return tagged(answer(ipv4()), worker).port(static_cast<std::uint16_t>(5000 + worker));
        };
        server_side.send(path(addressee).carrying(Ack{}));
        std::set<std::string> expected, got;
        for (std::uint32_t worker = 1; worker <= 3; worker++)
            expected.insert(hex(path(worker)
                                    .carrying(Ack{.worker = worker,
                                                  .state_flags = OLAF_FLAG_STAMPED,
                                                  .active_clusters = 1,
                                                  .queue_capacity = 4})
                                    .bytes));
        while (got.size() < 3) {
            const auto frame = workers_side.poll(patience);
            ASSERT_TRUE(frame);
            if (parse_ack(*frame))
                got.insert(hex(*frame));
        }
        EXPECT_EQ(got, expected);
    }
}

/// The server is reached by the queue's own device: the token's catch and the turn-round share
/// its TC ingress.
TEST(AckOneArmed, FromUpstreamByTheQueuesOwnDevice) {
    for (const auto *mode : {"native", "skb"}) {
        Testbed bed{{.way = Way::one_armed}};
        const auto before = traces(bed.host);
        bed.olaf.attach({"--upstream", "10.0.1.2", "--mode", mode});
        const UdpSocket one(bed.worker, Testbed::worker_peer(4));
        const UdpSocket two(bed.worker, Testbed::worker_peer(4));
        const UdpSocket server(bed.server(), Testbed::server_peer(4));
        for (std::uint32_t worker : {1u, 2u}) {
            (worker == 1 ? one : two).send(Update{.worker = worker}, {.address = "10.0.0.254"});
            (void)server.receive();
        }
        server.send(Ack{.lanes = {1, 2, 3}}, {.address = "10.0.1.254"});
        const auto datagram = one.poll(patience);
        ASSERT_TRUE(datagram) << mode;
        EXPECT_EQ(datagram->source, (Peer{.address = "10.0.0.254"})) << mode;
        EXPECT_EQ(datagram->ack().worker, 1u) << mode;
        EXPECT_EQ(two.receive().ack().worker, 2u) << mode;
        bed.olaf.detach();
        EXPECT_EQ(traces(bed.host), before);
    }
}

/// Two queues on the way: the one at the server stamps first.
TEST(AckChain, TheMoreCongestedQueuesStateArrives) {
    for (const bool first_is_worse : {true, false}) {
        Testbed bed{{.way = Way::bridged}};
        OlafCommand at_server(bed.server(), "eth0");
        bed.attach({"--queue", first_is_worse ? "64" : "2", "--activity-window", "3600s"});
        at_server.attach(
            {"--local", "--queue", first_is_worse ? "1" : "64", "--activity-window", "3600s"});
        Fleet fleet(bed, 4);
        const UdpSocket server(bed.server(), Testbed::server_peer(4));
        fleet.speak();
        at_server.await([](const Status &s) { return s["received"] == clusters * workers; });
        server.send(Ack{.cluster = 1}, fleet.peer(1, 0));
        fleet.expect_own(1, [&](const Ack &ack) {
            EXPECT_EQ(ack.queue_capacity, first_is_worse ? 1u : 2u);
            EXPECT_EQ(ack.active_clusters, clusters);
            EXPECT_EQ(ack.state_flags, OLAF_FLAG_STAMPED | OLAF_FLAG_CONGESTED);
        });
        const auto acks = bed.olaf.status().json["acks"];
        EXPECT_EQ(acks["recognised"], workers);
        EXPECT_EQ(acks["kept"], first_is_worse ? workers : 0);
        EXPECT_EQ(at_server.status().json["acks"]["copies"], workers - 1);
    }
}

} // namespace
} // namespace olaf::test::ack_test
