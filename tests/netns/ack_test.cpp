// SPDX-License-Identifier: BSD-2-Clause
// The way back between real sockets: every worker of a cluster hears its own ACK, stamped, and no stranger
// changes that.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <set>
#include <thread>

#include "traffic.hpp"
#include "traces.hpp"

namespace olaf::test::ack_test {
namespace {

constexpr std::uint32_t clusters = 3, workers = 8;

/// clusters × workers sockets, each a worker of its own.
class Fleet {
  public:
    Fleet(const Testbed &bed, int family) : bed_(bed), family_(family) {
        for (auto &cluster : sockets_)
            for (auto &socket : cluster)
                socket = std::make_unique<UdpSocket>(bed.worker, Testbed::worker_peer(family));
    }

    [[nodiscard]] const UdpSocket &at(std::uint32_t cluster, std::uint32_t worker) const {
        return *sockets_.at(cluster).at(worker);
    }
    [[nodiscard]] Peer peer(std::uint32_t cluster, std::uint32_t worker) const {
        return Testbed::worker_peer(family_, at(cluster, worker).port());
    }
    /// Every worker sends an update; returns when the queue has received them all.
    void speak() {
        for (std::uint32_t cluster = 0; cluster < clusters; cluster++)
            for (std::uint32_t worker = 0; worker < workers; worker++)
                at(cluster, worker)
                    .send(Update{.cluster = cluster, .worker = worker}, bed_.target(family_));
        spoken_ += clusters * workers;
        bed_.olaf.await([&](const Status &status) { return status["received"] == spoken_; });
    }
    /// Each worker of that cluster gets one ACK, its own; nobody else gets any.
    void expect_own(std::uint32_t cluster, const std::function<void(const Ack &)> &check) const {
        for (std::uint32_t worker = 0; worker < workers; worker++) {
            const auto ack = at(cluster, worker).receive().ack();
            EXPECT_EQ(ack.cluster, cluster);
            EXPECT_EQ(ack.worker, worker);
            check(ack);
        }
        for (const auto &others : sockets_)
            for (const auto &socket : others)
                EXPECT_FALSE(socket->poll(std::chrono::milliseconds(0)));
    }

  private:
    const Testbed &bed_;
    int family_;
    std::uint64_t spoken_ = 0;
    std::array<std::array<std::unique_ptr<UdpSocket>, workers>, clusters> sockets_;
};

// ---- ack ----
// The way back between real sockets: every worker of a cluster hears its own ACK, stamped.

class Acks : public testing::TestWithParam<Route> {
  protected:
    Acks() {
        if (GetParam().partial)
            set_offloads(bed.server(), bed.server_device(), {.tx_checksum = true});
    }

    /// Where the server sends an ACK for everybody in the cluster.
    [[nodiscard]] Peer addressee(std::uint32_t cluster, std::uint32_t worker) const {
        if (bed.upstream())
            return {.address = bed.outer == 4 ? "10.0.1.254" : "fd00:0:0:1::fe"};
        return fleet.peer(cluster, worker);
    }
    void expect_no_errors() const {
        for (const auto *counter : {"UdpInCsumErrors", "Udp6InCsumErrors", "UdpInErrors"})
            EXPECT_EQ(bed.worker.snmp(counter), 0u) << counter;
        const auto status = bed.olaf.status();
        for (const auto *counter : {"copies_refused", "copies_unreachable", "copies_unfit"})
            EXPECT_EQ(status.counted("acks", counter), 0u) << counter;
    }

    SocketBed bed{{.way = GetParam().way}, GetParam().family};
    Fleet fleet{bed, bed.family};
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
            bed.to.send(ack, addressee(cluster, 2));
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
        bed.to.send(Ack{.cluster = 1, .worker = worker}, addressee(1, worker));
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
    testing::Values(Route{"Local4", Way::local, 4}, Route{"Local6", Way::local, 6},
                    Route{"LocalGeneric4", Way::local, 4, "skb"},
                    Route{"Bridged4", Way::bridged, 4}, Route{"Bridged6", Way::bridged, 6},
                    Route{"BridgedPartialChecksum4", Way::bridged, 4, "auto", true},
                    Route{"BridgedPartialChecksum6", Way::bridged, 6, "auto", true},
                    Route{"RoutedPartialChecksum4", Way::routed, 4, "auto", true},
                    Route{"Routed6", Way::routed, 6}, Route{"OneArmed4", Way::one_armed, 4},
                    Route{"Upstream4", Way::upstream4, 4}, Route{"Upstream6", Way::upstream6, 6},
                    Route{"Upstream4From6", Way::upstream4, 6},
                    Route{"Upstream6From4", Way::upstream6, 4},
                    Route{"Upstream4PartialChecksum", Way::upstream4, 4, "auto", true},
                    Route{"Upstream6From4PartialChecksum", Way::upstream6, 4, "auto", true},
                    Route{"UpstreamGeneric4", Way::upstream4, 4, "skb"}),
    by_name);

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

// ---- ack filters ----
// Our filters on the way back, next to those of others, and swapped under load.

TEST(AckFilters, ThoseOfOthersSeeEveryCopyAndOutliveUs) {
    const CountRuns counting;
    Testbed bed;
    const ForeignFilter before(bed.host, "in", TcFilter::sent, 1);
    {
        bed.attach();
        const ForeignFilter behind(bed.host, "in", TcFilter::sent, 49000);
        Fleet fleet(bed, 4);
        fleet.speak();
        const UdpSocket server(bed.server(), Testbed::server_peer(4));
        const auto ran_before = before.runs(), ran_behind = behind.runs();
        server.send(Ack{.cluster = 2}, fleet.peer(2, 7));
        fleet.expect_own(2, [](const Ack &) {});
        EXPECT_EQ(before.runs() - ran_before, workers);
        EXPECT_EQ(behind.runs() - ran_behind, workers);
        bed.olaf.detach();
        EXPECT_TRUE(before.attached());
        EXPECT_TRUE(behind.attached());
        const auto runs = behind.runs();
        server.send(Ack{.cluster = 2}, fleet.peer(2, 7));
        EXPECT_EQ(fleet.at(2, 7).receive().ack().state_flags, 0);
        EXPECT_EQ(behind.runs(), runs + 1);
    }
}

TEST(AckFilters, ThoseOnTheUpstreamDeviceOutliveUsAsWell) {
    Testbed bed{{.way = Way::upstream4}};
    const ForeignFilter foreign(bed.host, "out", TcFilter::received, 1);
    const auto before = traces(bed.host);
    bed.attach();
    EXPECT_NE(traces(bed.host), before);
    bed.olaf.detach();
    EXPECT_TRUE(foreign.attached());
    EXPECT_EQ(traces(bed.host), before);
}

/// Far more than a copy takes, far less than a test may.
constexpr auto patience_for_one = std::chrono::milliseconds(500);

TEST(AckReplace, KeepsTheMembersAndMovesTheFilters) {
    Testbed bed{{.way = Way::upstream4}};
    const auto before = traces(bed.host);
    bed.attach({"--activity-window", "3600s"});
    Fleet fleet(bed, 4);
    fleet.speak();
    const UdpSocket server(bed.server(), Testbed::server_peer(4));
    std::atomic<std::uint64_t> sent = 0;
    std::jthread acknowledging([&](const std::stop_token &stop) {
        for (; !stop.stop_requested(); sent++) {
            server.send(Ack{.cluster = 1}, {.address = "10.0.1.254"});
            // One at a time: a flood would lose some before our programs, some behind them.
            static_cast<void>(fleet.at(1, workers - 1).poll(patience_for_one));
        }
    });
    for (int i = 0; i < 3; i++)
        bed.olaf.replace({"--member-timeout", i % 2 == 0 ? "300s" : "60s"});
    acknowledging.request_stop();
    acknowledging.join();
    // Each was seen by one program or the next.
    const auto status = bed.olaf.await([&](const Status &s) {
        return s.json["acks"]["recognised"] == sent.load();
    });
    EXPECT_EQ(status.json["acks"]["copies"], sent * workers);
    EXPECT_EQ(status.json["limits"]["member_timeout_ns"], 300'000'000'000);
    const auto listed =
        nlohmann::json::parse(bed.olaf({"cluster", "list", "in", "1", "--json"}).out);
    EXPECT_EQ(listed[0]["members"].size(), workers);

    bed.olaf.replace({"--local"}); // no more upstream: its filter goes
    const UdpSocket local(bed.host, {.address = "10.0.0.254"});
    local.send(Ack{.cluster = 2}, fleet.peer(2, 0));
    EXPECT_EQ(fleet.at(2, 7).receive().ack().worker, 7u);
    bed.olaf.replace({"--upstream", "10.0.1.2"});
    server.send(Ack{.cluster = 0}, {.address = "10.0.1.254"});
    EXPECT_EQ(fleet.at(0, 3).receive().ack().worker, 3u);
    bed.olaf.detach();
    EXPECT_EQ(traces(bed.host), before);
}

// ---- strangers ----

/// A forged update turns no worker's ACKs, and a forged ACK reaches its addressee alone. Every case of both is in
/// tests/datapath.
TEST(AckStrangers, TakeNobodysAcksAndReachNobodyElse) {
    Testbed bed{{.way = Way::bridged}};
    bed.attach({"--activity-window", "3600s"});
    const UdpSocket one(bed.worker, Testbed::worker_peer(4)), two(bed.worker, Testbed::worker_peer(4)),
        server(bed.server(), Testbed::server_peer(4));
    one.send(Update{.cluster = 1, .worker = 1}, bed.target(4));
    two.send(Update{.cluster = 1, .worker = 2}, bed.target(4));
    bed.olaf.await([](const Status &status) { return status["received"] == 2; });
    const PacketSocket forger(bed.worker, "eth0"), stranger(bed.server(), "eth0");
    forger.send(bed.path().source(77).source_port(two.port()).carrying(Update{.cluster = 1, .worker = 2}));
    stranger.send(answer(ipv4()).source(9).port(one.port()).carrying(Ack{.cluster = 1, .sequence = 666}));
    const auto forged = one.receive().ack();
    EXPECT_EQ(forged.sequence, 666u);
    EXPECT_EQ(forged.state_flags, 0);
    const auto status = bed.olaf.await([](const Status &now) { return now["received"] == 3; });
    EXPECT_EQ(status.json["acks"]["takeovers_refused"], 1);
    EXPECT_EQ(status.json["acks"]["foreign"], 1);
    // The server's own goes to both: what two hears first is that.
    server.send(Ack{.cluster = 1, .sequence = 7}, Testbed::worker_peer(4, one.port()));
    EXPECT_EQ(two.receive().ack().sequence, 7u);
    EXPECT_EQ(one.receive().ack().state_flags, OLAF_FLAG_STAMPED);
}

// ---- registered ----
// Workers that `olaf cluster set --worker` registers, and --strict.

TEST(Registered, StrictTakesNobodyElseAndCounts) {
    SocketBed bed;
    bed.attach({"--strict"});
    bed.olaf.cluster({"set", "0-2", "--worker", "1=10.0.0.1", "--worker", "2=10.0.0.9:7000"});
    const auto say = [&](std::uint32_t id) { bed.send(Update{.cluster = 2, .worker = id}); };
    say(1);
    EXPECT_EQ(bed.receive().worker, 1u);
    say(2); // the address is another's
    say(3); // nobody's id
    say(0xffffffff);
    const auto status =
        bed.olaf.await([](const Status &s) { return s["not_allowed"] == 3; });
    EXPECT_EQ(status["received"], 1u);
    EXPECT_EQ(status.json["not_allowed_by_reason"]["address"], 1);
    EXPECT_EQ(status.json["not_allowed_by_reason"]["worker"], 2);
    EXPECT_EQ(status.json["strict"], true);

    const auto listed = nlohmann::json::parse(bed.olaf({"cluster", "list", "in", "2", "--json"}).out);
    const auto &members = listed[0]["members"];
    ASSERT_EQ(members.size(), 2u);
    EXPECT_EQ(members[0]["worker"], 1);
    EXPECT_EQ(members[0]["address"], "10.0.0.1:" + std::to_string(bed.from.port()));
    EXPECT_EQ(members[0]["mac"], text(worker_mac));
    EXPECT_EQ(members[1]["address"], "10.0.0.9:7000");
    EXPECT_TRUE(members[1]["silent_ns"].is_null());

    bed.olaf.cluster({"remove", "2"});
    say(1);
    bed.olaf.await([](const Status &s) { return s["not_allowed"] == 4; });
    EXPECT_FALSE(bed.to.poll(std::chrono::milliseconds(0)));
    EXPECT_TRUE(refused(bed.olaf({"cluster", "set", "in", "0", "--worker", "256=10.0.0.1"}),
                        "--max-workers"));
}

/// A registered worker is acknowledged before it has sent anything, if this host can find it.
TEST(Registered, IsReachedBeforeItIsHeard) {
    Testbed bed{{.way = Way::routed}};
    bed.attach();
    const UdpSocket silent(bed.worker, Testbed::worker_peer(4));
    const UdpSocket heard(bed.worker, Testbed::worker_peer(4));
    const UdpSocket server(bed.server(), Testbed::server_peer(4));
    bed.olaf.cluster({"set", "0", "--worker",
                      "5=10.0.0.1:" + std::to_string(silent.port())});
    heard.send(Update{.worker = 1}, bed.target(4));
    (void)server.receive();
    server.send(Ack{}, Testbed::worker_peer(4, heard.port()));
    EXPECT_EQ(heard.receive().ack().worker, 1u);
    auto first = silent.receive();
    if (first.payload.empty()) // what asked for its address
        first = silent.receive();
    EXPECT_EQ(first.ack().worker, 5u);
}

} // namespace
} // namespace olaf::test::ack_test
