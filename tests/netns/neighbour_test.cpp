// SPDX-License-Identifier: BSD-2-Clause
// Next hops that the host doesn't know yet, or that change.
#include <gtest/gtest.h>

#include "traffic.hpp"

namespace olaf::test::neighbour_test {
namespace {

struct Case {
    const char *name;
    Way way;
    int family; ///< of worker and server
};

class Neighbour : public testing::TestWithParam<Case> {
  protected:
    int family = GetParam().family;
    Testbed bed{{.way = GetParam().way, .server_known = false}};
    UdpSocket worker{bed.worker, Testbed::worker_peer(family)};
    UdpSocket server{bed.server(), Testbed::server_peer(family)};
};

TEST_P(Neighbour, DeparturesWaitUntilItIsResolved) {
    bed.attach({"--policy", "aggregate"});
    // Attaching upstream asks for the neighbour at once: forget the answer.
    bed.host.ip("neighbour flush dev out\n");
    const auto updates = random_updates(20, 5, 8, 11);
    Tally sent, received;
    for (const auto &update : updates) {
        worker.send(update, bed.target(family));
        sent.add(update);
    }
    while (received.updates < sent.updates)
        received.add(server.receive().update());
    EXPECT_EQ(received.clusters, sent.clusters);
    const auto status = bed.olaf.await_drained(20);
    EXPECT_EQ(status["updates_out"], 20u);
    EXPECT_EQ(status.failed(), 0u);
    EXPECT_GE(status["departed_drain"], 1u);
    expect_identities(status);
    const auto told = run({"ip", "-n", bed.host.name(), "neighbour", "show", "dev", "out"});
    EXPECT_NE(told.out.find(text(server_mac)), told.out.npos) << told.out;
}

TEST_P(Neighbour, AChangeOfItsMacIsFollowed) {
    bed.attach();
    const PacketSocket wire(bed.server(), "eth0");
    const Mac moved = {2, 0, 0, 0, 0, 0x77};
    for (const auto &mac : {server_mac, moved}) {
        const auto who = Testbed::server_peer(family).address + " lladdr " + text(mac);
        bed.server().ip("link set eth0 address " + text(mac) + "\n");
        bed.host.ip("neighbour replace " + who + " dev out nud permanent\n");
        // Within the life of a cached answer, 100 ms a cluster, departures go to the new address.
        await(
            [&] {
                worker.send(Update{.cluster = 1}, bed.target(family));
                const auto got = wire.receive_update();
                return std::equal(mac.begin(), mac.end(), got.frame.bytes.begin());
            },
            [] { return "a departure to the new address"; });
        // And it is the server's own, so its socket hears it.
        while (server.poll(std::chrono::milliseconds(0)))
            ;
        worker.send(Update{.cluster = 1, .sequence = 2}, bed.target(family));
        EXPECT_EQ(server.receive().update().sequence, 2u);
        EXPECT_EQ(wire.receive_update().update.sequence, 2u);
    }
}

INSTANTIATE_TEST_SUITE_P(All, Neighbour,
                         testing::Values(Case{"Routed4", Way::routed, 4},
                                         Case{"Routed6", Way::routed, 6},
                                         Case{"Upstream4", Way::upstream4, 4},
                                         Case{"Upstream6", Way::upstream6, 6}),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
} // namespace olaf::test::neighbour_test
