// SPDX-License-Identifier: BSD-2-Clause
// Updates on their way from a worker's socket to a server's: in order, at the rate, by each cluster's rule, in
// exact sums, and beside what is no update.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <ranges>
#include <sstream>

#include "listening.hpp"
#include "sockets.hpp"
#include "traces.hpp"
#include "traffic.hpp"

namespace olaf::test::delivery_test {
namespace {

// Each way of delivery with each IP version, from a worker's socket to a server's: every update
// arrives once, folded or not, with right checksums, and routers count down.

class Delivery : public testing::TestWithParam<Route> {
  protected:
    SocketBed bed{{.way = GetParam().way, .worker = {.tx_checksum = GetParam().partial}},
                  GetParam().family};

    void expect_header(const Datagram &datagram) const {
        // Upstream they come from the host itself; else from the worker, over a router or not.
        const auto source = Peer{.address = bed.outer == 4 ? "10.0.1.254" : "fd00:0:0:1::fe"};
        EXPECT_EQ(datagram.source,
                  bed.upstream() ? source : Testbed::worker_peer(bed.family, bed.from.port()));
        EXPECT_EQ(datagram.ttl, bed.routes() ? 63 : 64);
    }
};

TEST_P(Delivery, AloneItPassesThroughAtOnce) {
    bed.attach({"--mode", GetParam().mode});
    for (std::uint32_t i = 1; i <= 5; i++) {
        const Update update{.cluster = 3, .sequence = i, .lanes = {i, ~std::uint64_t{0}, 7}};
        bed.send(update);
        const auto datagram = bed.to.receive();
        EXPECT_EQ(datagram.update(), update);
        expect_header(datagram);
    }
    const auto status = bed.olaf.status();
    EXPECT_EQ(status["received"], 5u);
    EXPECT_EQ(status["passed_through"], 5u);
    EXPECT_EQ(status.json["mode"], GetParam().mode == std::string("skb") ? "skb" : bed.mode());
    expect_identities(status);
    bed.expect_checksums_right();
}

TEST_P(Delivery, FoldsWhatWaitsIntoExactSums) {
    // The link is busy for longer than the burst takes: all but the first must wait.
    bed.attach({"--rate", "200kbit", "--policy", "aggregate", "--mode", GetParam().mode});
    const auto sent = bed.send(random_updates(40, 2, 16, 1));
    const auto received =
        bed.expect_arrival(sent, [&](const Datagram &datagram) { expect_header(datagram); });
    EXPECT_LT(received.messages, sent.messages);
    const auto status = bed.olaf.await_drained(40);
    EXPECT_EQ(status["received"], 40u) << "the drain's departures are no arrivals";
    EXPECT_GT(status["departed_drain"], 0u);
    EXPECT_EQ(status["updates_out"], 40u);
    EXPECT_EQ(status["aggregated"] + received.messages, 40u);
    EXPECT_EQ(status["departed"] + status["passed_through"], received.messages);
    EXPECT_EQ(status.failed(), 0u);
    expect_identities(status);
    bed.expect_checksums_right();
}

INSTANTIATE_TEST_SUITE_P(
    All, Delivery,
    testing::Values(Route{"Local4", Way::local, 4}, Route{"Local6", Way::local, 6},
                    Route{"LocalPartialChecksum4", Way::local, 4, "auto", true},
                    Route{"LocalPartialChecksum6", Way::local, 6, "auto", true},
                    Route{"LocalGeneric4", Way::local, 4, "skb"},
                    Route{"BridgedGeneric4", Way::bridged, 4, "skb"},
                    Route{"Bridged4", Way::bridged, 4}, Route{"Bridged6", Way::bridged, 6},
                    Route{"BridgedPartialChecksum4", Way::bridged, 4, "auto", true},
                    Route{"BridgedPartialChecksum6", Way::bridged, 6, "auto", true},
                    Route{"Routed4", Way::routed, 4}, Route{"Routed6", Way::routed, 6},
                    Route{"OneArmed4", Way::one_armed, 4}, Route{"OneArmed6", Way::one_armed, 6},
                    Route{"Upstream4", Way::upstream4, 4}, Route{"Upstream6", Way::upstream6, 6},
                    Route{"Upstream4From6", Way::upstream4, 6},
                    Route{"Upstream6From4", Way::upstream6, 4}),
    by_name);

// ---- order ----
// Departures leave in the order in which their entry was appended, whether they ride or drain. Behind the queue two
// CPUs' frames may pass each other on their way to the server's socket; a card's can't.

/// Sequence numbers of what left, by the clock of the program that let it go.
std::vector<std::uint32_t> sequences_of(const std::vector<nlohmann::json> &events) {
    std::map<std::uint64_t, std::uint32_t> by_time;
    for (const auto &event : events)
        if (event.at("event") == "departure" || event.at("action") == "passed")
            by_time[event.at("time_ns")] = event.at("sequence");
    const auto values = std::views::values(by_time);
    return {values.begin(), values.end()};
}

class Order : public testing::TestWithParam<Way> {
  protected:
    SocketBed bed{{.way = GetParam()}};
};

TEST_P(Order, FifoKeepsTheOrderOfArrival) {
    const auto queue = bed.places(4096), count = std::min(queue, 600u);
    bed.attach({"--policy", "fifo", "--rate", "4mbit", "--queue", std::to_string(queue)});
    std::optional<Trace> trace;
    if (!bed.card) {
        trace.emplace(bed, bed.from);
        bed.olaf.await_drained(bed.olaf.status()["received"]);
    }
    const auto before = bed.olaf.status();
    for (std::uint32_t i = 0; i < count; i++)
        bed.send(Update{.cluster = i % 7, .sequence = i, .lanes = {i}});
    std::vector<std::uint32_t> sent(count), received;
    std::iota(sent.begin(), sent.end(), 0);
    while (received.size() < count)
        if (const auto update = bed.receive(); update.cluster < 7)
            received.push_back(update.sequence);
    if (bed.card) {
        EXPECT_EQ(received, sent);
    }
    std::ranges::sort(received);
    EXPECT_EQ(received, sent) << "each once";
    const auto status = bed.olaf.await_drained(before["received"] + count);
    if (trace) {
        EXPECT_EQ(sequences_of(trace->events()), sent);
    }
    EXPECT_EQ(status["received"] - before["received"], count);
    EXPECT_EQ(status["appended"] + status["passed_through"] - before["appended"] - before["passed_through"], count);
    EXPECT_GT(status["departed_drain"], 0u);
    expect_identities(status);
}

INSTANTIATE_TEST_SUITE_P(All, Order, testing::Values(Way::local, Way::bridged, Way::routed),
                         by_way);

// ---- pacing ----
// Departures keep the rate: n of them take n serialisation times, less the credit of one. A card's
// tests look at its clock (tests/hardware/pace_test.cpp).

struct Pace {
    const char *name;
    Way way;
    std::uint64_t rate_bps;
    std::uint32_t count;
    std::size_t lanes; ///< of data
    const char *drain_interval;
};

/// When updates left, by the clock of the program that lets them go.
std::vector<std::uint64_t> times_of(const std::vector<nlohmann::json> &events) {
    std::vector<std::uint64_t> times;
    for (const auto &event : events)
        if (event.at("event") == "departure" || event.at("action") == "passed")
            times.push_back(event.at("time_ns"));
    return times;
}

/// Any two, not just neighbours: no burst may go faster than the rate, but for the credit of one.
void expect_apart(const std::vector<std::uint64_t> &times, std::size_t count,
                  std::uint64_t serialisation) {
    ASSERT_EQ(times.size(), count);
    for (std::size_t i = 0; i < times.size(); i++)
        for (std::size_t j = i + 1; j < times.size(); j++)
            EXPECT_GE(times[j] - times[i], (j - i - 1) * serialisation) << i << " to " << j;
}

class Pacing : public testing::TestWithParam<Pace> {};

TEST_P(Pacing, DeparturesAreASerialisationTimeApart) {
    const auto &pace = GetParam();
    SocketBed bed{{.way = pace.way}};
    const auto queue = bed.places(64);
    const auto count = std::min(pace.count, queue);
    bed.attach({"--policy", "fifo", "--queue", std::to_string(queue), "--rate",
                std::to_string(pace.rate_bps / 1000) + "kbit", "--drain-interval",
                pace.drain_interval});
    const Update update{.cluster = 3, .lanes = std::vector<std::uint64_t>(pace.lanes, 1)};
    std::optional<Trace> trace;
    if (!bed.card) {
        trace.emplace(bed, bed.from);
        bed.olaf.await_drained(bed.olaf.status()["received"]);
    }
    const auto before = bed.olaf.status();
    for (std::uint32_t i = 0; i < count; i++)
        bed.send(update);
    std::uint32_t received = 0;
    while (received < count)
        received += bed.receive() == update ? 1 : 0;
    const auto status = bed.olaf.await_drained(before["received"] + count);
    EXPECT_EQ(status["updates_out"] - before["updates_out"], count);
    EXPECT_GE(status["departed_drain"] - before["departed_drain"], count / 2)
        << "these have waited";
    expect_identities(status);
    if (trace)
        expect_apart(times_of(trace->events()), count,
                     bed.path().carrying(update).size() * 8 * 1'000'000'000 / pace.rate_bps);
}

INSTANTIATE_TEST_SUITE_P(
    All, Pacing,
    testing::Values(Pace{"Local1mbit", Way::local, 1'000'000, 60, 128, "100us"},
                    Pace{"Bridged1mbit", Way::bridged, 1'000'000, 60, 128, "100us"},
                    Pace{"Local10kbit", Way::local, 10'000, 9, 8, "100us"},
                    Pace{"Bridged10kbitSlowDrain", Way::bridged, 10'000, 9, 8, "5ms"}),
    by_name);

// ---- cluster ----
// `olaf cluster set` on a running queue: each cluster follows its own rule from then on.

class ClusterRules : public testing::Test {
  protected:
    ClusterRules() {
        auto options = slow_link;
        options.push_back("--fifo");
        bed.attach(options);
    }

    void send(Update update) { bed.send(update); }

    SocketBed bed;
};

TEST_F(ClusterRules, EachHasItsOwnUntilItIsRemoved) {
    bed.olaf.cluster({"set", "0", "--policy", "fifo"});
    bed.olaf.cluster({"set", "1", "--policy", "aggregate", "--max-count", "2"});
    bed.olaf.cluster({"set", "2", "--policy", "newest"});
    bed.olaf.cluster({"set", "3-4", "--reward-threshold", "1.5"});
    occupy(bed);
    const auto before = bed.olaf.status();
    for (std::uint64_t lane = 1; lane <= 3; lane++)
        for (const std::uint32_t cluster : {0u, 2u})
            send({.cluster = cluster, .lanes = {lane}});
    for (std::uint64_t lane = 1; lane <= 5; lane++) // the last one finds two that are full
        send({.cluster = 1, .lanes = {lane}});
    // The second reward is near enough to fold, the third takes the place, the last is too low.
    std::uint32_t worker = 0;
    for (const std::int64_t reward : {10, 11, 14, 8}) {
        worker++;
        send({.cluster = 3,
              .worker = worker,
              .reward = reward << OLAF_REWARD_FRACTION_BITS,
              .lanes = {worker}});
    }
    std::map<std::uint32_t, std::vector<std::uint64_t>> lanes;
    for (int i = 0; i < 7; i++) {
        const auto update = bed.receive();
        lanes[update.cluster].push_back(update.lanes[0]);
    }
    EXPECT_EQ(lanes[0], (std::vector<std::uint64_t>{1, 2, 3}));
    EXPECT_EQ(lanes[1], (std::vector<std::uint64_t>{1 + 2, 3 + 4}));
    EXPECT_EQ(lanes[2], (std::vector<std::uint64_t>{3}));
    EXPECT_EQ(lanes[3], (std::vector<std::uint64_t>{3}));
    const auto status = bed.olaf.await_drained(2 + 15);
    EXPECT_EQ(status["appended"] - before["appended"], 7u);
    EXPECT_EQ(status["aggregated"], 2u + 1u);
    EXPECT_EQ(status["replaced"], 2u + 1u);
    EXPECT_EQ(status["dropped_sealed"], 1u);
    EXPECT_EQ(status["dropped_reward"], 1u);
    expect_identities(status);

    bed.olaf.cluster({"remove", "1"});
    const auto told = bed.olaf({"--json", "cluster", "list", "in", "1"});
    const auto rules = nlohmann::json::parse(told.out);
    ASSERT_EQ(rules.size(), 1u) << told.out;
    EXPECT_EQ(rules[0]["policy"], "olaf");
    EXPECT_EQ(rules[0]["max_count"], OLAF_DEFAULT_MAX_COUNT);
}

// ---- bypass ----
// What isn't an update leaves byte-identical: frames, a TCP transfer.

class Bypass : public testing::TestWithParam<Route> {
  protected:
    // Every offload on, so that frames come large, tagged beside and without checksums.
    Testbed bed{{.way = GetParam().way, .worker = {.tx_checksum = true, .tx_vlan = true}}};
};

TEST_P(Bypass, TcpCarriesEveryByteBothWays) {
    bed.attach({"--rate", "1mbit", "--mode", GetParam().mode});
    for (const int family : {4, 6}) {
        SCOPED_TRACE(family);
        const auto there = random_bytes(6 << 20, 5), back = random_bytes(2 << 20, 6);
        const auto echoed =
            exchange_by_tcp(bed.worker, bed.server(), Testbed::server_peer(family), there, back);
        EXPECT_TRUE(echoed.there == there);
        EXPECT_TRUE(echoed.back == back);
    }
    const auto status = bed.olaf.status();
    EXPECT_GT(status["bypassed"], 0u);
    EXPECT_EQ(status["received"], 0u);
    EXPECT_EQ(status["malformed"], 0u);
}

INSTANTIATE_TEST_SUITE_P(All, Bypass,
                         testing::Values(Route{"Local", Way::local},
                                         Route{"LocalGeneric", Way::local, 4, "skb"},
                                         Route{"Bridged", Way::bridged},
                                         Route{"BridgedGeneric", Way::bridged, 4, "skb"},
                                         Route{"Routed", Way::routed}),
                         by_name);

TEST(BypassFrames, LeaveByteIdenticalAndAreCounted) {
    Testbed bed{{.way = Way::bridged}};
    PacketSocket worker(bed.worker, "eth0"), server(bed.server(), "eth0");
    bed.attach();
    const auto before = bed.olaf.status()["bypassed"];
    const Update update{};
    auto foreign = ipv4().carrying(random_bytes(300, 7));
    foreign.bytes[12] = 0x88; // EtherType of local experiments
    foreign.bytes[13] = 0xb5;
    auto other_magic = ipv4().carrying(update);
    other_magic.bytes[other_magic.message] ^= 0xff;
    const Frame frames[] = {
        foreign,
        ipv4().port(6524).carrying(update),
        other_magic,
        with_ip(ipv4().carrying(update), 6, 0x2000, 2), // a fragment
        ipv6().routing().carrying(update),
        ipv4().vlan(3).carrying(Ack{.cluster = 1, .lanes = {1, 2, 3}}),
        ipv6().service_vlan(8).vlan(3).carrying(control_message()),
        ipv4().vlan(1).port(53).carrying(random_bytes(900, 8)),
    };
    for (const auto &frame : frames) {
        worker.send(frame);
        for (bool found = false; !found;) {
            const auto got = server.poll(patience);
            ASSERT_TRUE(got) << hex(frame.bytes);
            found = *got == frame.bytes; // the hosts' own IPv6 chatter may come between
        }
    }
    const auto status = bed.olaf.status();
    EXPECT_GE(status["bypassed"] - before, std::size(frames));
    EXPECT_EQ(status["received"], 0u);
    EXPECT_EQ(status["malformed"], 0u);
}

// ---- flood ----
// Floods from every CPU at once into two receive queues: the identities hold exactly, and so do
// the sums.

constexpr std::uint32_t clusters = 9;

struct Load {
    const char *name;
    Way way;
    const char *policy;
    std::vector<std::string> more = {};
};

class Flood : public testing::TestWithParam<Load> {
  protected:
    /// Frames that XDP got from a receive queue of `in`, by the name that veth and virtio_net have for it or
    /// that virtio_net has for it since Linux 6.11.
    [[nodiscard]] std::uint64_t xdp_packets(unsigned queue) const {
        const auto told = run({"ethtool", "-S", "in"}, {}, &bed.host);
        for (const auto &key : {"rx_queue_" + std::to_string(queue) + "_xdp_packets:",
                                "rx" + std::to_string(queue) + "_xdp_packets:"})
            if (const auto at = told.out.find(key); at != told.out.npos)
                return std::stoull(told.out.substr(at + key.size()));
        return 0;
    }

    SocketBed bed{{.way = GetParam().way, .queues = 2}};
};

TEST_P(Flood, NothingIsUnaccountedFor) {
    bed.attach(joined({"--rate", "20mbit", "--policy", GetParam().policy}, GetParam().more));
    // Each cluster's updates are alike, so that whatever is folded is a multiple.
    auto updates = random_updates(512, clusters, 8, 3);
    for (auto &update : updates)
        for (std::size_t i = 0; i < update.lanes.size(); i++)
            update.lanes[i] = (update.cluster + 1) * 0x0123456789abcdefULL + i;
    Collector collector(bed.to);
    const auto sent = flood(bed, updates, 60).updates;
    const auto status = bed.olaf.await_drained(sent);
    EXPECT_EQ(status["received"], sent);
    EXPECT_EQ(status["updates_in"], sent);
    EXPECT_EQ(status.failed(), 0u);
    expect_identities(status);
    const auto tally = collector.await(status["updates_out"]);
    EXPECT_EQ(tally.updates, status["updates_out"]);
    EXPECT_EQ(tally.messages, status["passed_through"] + status["departed"]);
    for (const auto &[cluster, sum] : tally.clusters)
        for (std::size_t i = 0; i < sum.lanes.size(); i++)
            ASSERT_EQ(sum.lanes[i], sum.count * ((cluster + 1) * 0x0123456789abcdefULL + i));
    EXPECT_GT(xdp_packets(0), 0u);
    EXPECT_GT(xdp_packets(1), 0u);
}

INSTANTIATE_TEST_SUITE_P(
    All, Flood,
    testing::Values(Load{"LocalOlaf", Way::local, "olaf"},
                    Load{"LocalFifoFull", Way::local, "fifo", {"--queue", "8"}},
                    Load{"LocalNewest", Way::local, "newest", {"--queue", "4"}},
                    Load{"BridgedOlafFull", Way::bridged, "olaf", {"--queue", "4"}},
                    Load{"BridgedFifo", Way::bridged, "fifo", {"--queue", "64"}},
                    Load{"RoutedOlaf", Way::routed, "olaf"},
                    Load{"UpstreamOlaf", Way::upstream4, "olaf", {"--queue", "8"}}),
    by_name);

class Aggregate : public testing::TestWithParam<Route> {};

TEST_P(Aggregate, TheSumOfAllThatIsReceivedIsTheSumOfAllThatWasSent) {
    SocketBed bed{{.way = GetParam().way, .queues = 2}};
    bed.attach({"--policy", "aggregate", "--rate", "20mbit", "--mode", GetParam().mode});
    bed.olaf.cluster({"set", "0-8", "--max-count", "65535"});
    Collector collector(bed.to);
    const auto sent = flood(bed, random_updates(512, clusters, 8, 4), 60);
    const auto tally = expect_all_arrive(bed, sent, collector);
    EXPECT_LT(tally.messages, sent.messages / 2);
}

INSTANTIATE_TEST_SUITE_P(All, Aggregate,
                         testing::Values(Route{"Local", Way::local},
                                         Route{"LocalGeneric", Way::local, 4, "skb"},
                                         Route{"Bridged", Way::bridged},
                                         Route{"BridgedGeneric", Way::bridged, 4, "skb"},
                                         Route{"OneArmed", Way::one_armed}),
                         by_name);

} // namespace
} // namespace olaf::test::delivery_test
