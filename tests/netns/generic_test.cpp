// SPDX-License-Identifier: BSD-2-Clause
// Generic XDP, for devices without native support: the same queue, behind the skb.
#include <gtest/gtest.h>

#include "tcp.hpp"
#include "traces.hpp"
#include "traffic.hpp"

namespace olaf::test::generic_test {
namespace {

class Generic : public testing::TestWithParam<Way> {
  protected:
    Testbed bed{{.way = GetParam(), .queues = 2}};
    UdpSocket worker{bed.worker, Testbed::worker_peer(4)};
    UdpSocket server{bed.server(), Testbed::server_peer(4)};
};

TEST_P(Generic, PassesFoldsAndDrains) {
    const auto before = traces(bed.host);
    bed.attach({"--mode", "skb", "--rate", "20kbit", "--policy", "aggregate"});
    occupy(bed, worker, server);
    const auto updates = random_updates(24, 3, 16, 51);
    Tally sent, received;
    for (const auto &update : updates) {
        worker.send(update, bed.target(4));
        sent.add(update);
    }
    while (received.updates < sent.updates) {
        const auto datagram = server.receive();
        EXPECT_EQ(datagram.source, Testbed::worker_peer(4, worker.port()));
        received.add(datagram.update());
    }
    EXPECT_EQ(received.clusters, sent.clusters);
    const auto status = bed.olaf.await_drained(26);
    EXPECT_EQ(status.json["mode"], "skb");
    EXPECT_EQ(status["received"], 26u) << "the drain's departures are no arrivals";
    EXPECT_EQ(status["departed"] + status["passed_through"], received.messages + 2);
    EXPECT_GT(status["departed_drain"], 0u);
    expect_identities(status);
    EXPECT_EQ(bed.server().snmp("UdpInCsumErrors"), 0u);
    bed.olaf.detach();
    EXPECT_EQ(traces(bed.host), before);
}

TEST_P(Generic, IsExactUnderAFlood) {
    make_lossless(bed);
    bed.attach({"--mode", "skb", "--rate", "20mbit", "--policy", "aggregate"});
    bed.olaf.cluster({"set", "0-8", "--max-count", "65535"});
    const auto updates = random_updates(256, 9, 8, 52);
    const auto frames = frames_of(bed, updates);
    Collector collector(server);
    flood(bed, frames, 20);
    Tally sent;
    for (const auto &update : updates)
        sent.add(update, std::uint64_t{20} * cpus());
    const auto status = bed.olaf.await_drained(sent.updates);
    EXPECT_EQ(status["received"], sent.updates);
    EXPECT_EQ(status.dropped(), 0u);
    expect_identities(status);
    EXPECT_EQ(collector.await(sent.updates).clusters, sent.clusters);
}

TEST_P(Generic, LeavesTcpAlone) {
    bed.attach({"--mode", "skb"});
    const auto there = random_bytes(2 << 20, 53), back = random_bytes(1 << 20, 54);
    const auto got =
        exchange_by_tcp(bed.worker, bed.server(), Testbed::server_peer(4), there, back);
    EXPECT_TRUE(got.there == there);
    EXPECT_TRUE(got.back == back);
}

INSTANTIATE_TEST_SUITE_P(All, Generic, testing::Values(Way::local, Way::bridged),
                         [](const auto &info) {
                             return info.param == Way::local ? "Local" : "Bridged";
                         });

} // namespace
} // namespace olaf::test::generic_test
