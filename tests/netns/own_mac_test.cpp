// SPDX-License-Identifier: BSD-2-Clause
// This host's MAC address changes after attach, or another comes beside it: updates still arrive.
#include <gtest/gtest.h>

#include "traffic.hpp"

namespace olaf::test::own_mac_test {
namespace {

struct Case {
    const char *name;
    Way way;
    int family = 4;
    const char *mode = "native";
};

constexpr Mac moved = {2, 0, 0, 0, 0, 0x55};

class OwnMac : public testing::TestWithParam<Case> {
  protected:
    /// The host's address towards the worker is at that MAC address now.
    void tell_worker(const Mac &mac) {
        const auto routed = bed.routes() || bed.upstream();
        for (const auto *address : {routed ? "10.0.0.254" : "10.0.1.2",
                                    routed ? "fd00::fe" : "fd00:0:0:1::2"})
            bed.worker.ip(std::string("neighbour replace ") + address + " lladdr " + text(mac) +
                          " dev eth0 nud permanent\n");
    }

    void all_arrive(std::uint32_t count) {
        Tally sent, received;
        for (std::uint32_t i = 0; i < count; i++) {
            const Update update{.cluster = i % 4, .worker = i, .sequence = i};
            worker.send(update, bed.target(family));
            sent.add(update);
        }
        while (received.updates < count)
            received.add(server.receive().update());
        EXPECT_EQ(received.clusters, sent.clusters);
    }

    int family = GetParam().family;
    Testbed bed{{.way = GetParam().way}};
    UdpSocket worker{bed.worker, Testbed::worker_peer(family)};
    UdpSocket server{bed.server(), Testbed::server_peer(family)};
};

TEST_P(OwnMac, UpdatesArriveAfterItHasChanged) {
    bed.attach({"--mode", GetParam().mode, "--policy", "aggregate"});
    all_arrive(10);
    bed.host.ip("link set in address " + text(moved) + "\n");
    tell_worker(moved);
    all_arrive(50);
    bed.olaf.replace(); // and once the queue has been told
    const auto before = bed.olaf.status()["received"];
    all_arrive(50);
    const auto status = bed.olaf.await_drained(before + 50);
    EXPECT_EQ(status.json.at("bypassed_by_reason").at("foreign"), 0);
    expect_identities(status);
}

/// As VRRP does it: a macvlan has the address and a MAC address of its own.
TEST_P(OwnMac, UpdatesToAMacvlansArrive) {
    bed.attach({"--mode", GetParam().mode, "--policy", "aggregate"});
    bed.host.ip("link add link in name virtual address " + text(moved) +
                " type macvlan mode bridge\nlink set virtual up\n");
    tell_worker(moved);
    all_arrive(20);
}

INSTANTIATE_TEST_SUITE_P(All, OwnMac,
                         testing::Values(Case{"Local4", Way::local, 4},
                                         Case{"LocalGeneric6", Way::local, 6, "skb"},
                                         Case{"Routed4", Way::routed, 4},
                                         Case{"Routed6", Way::routed, 6},
                                         Case{"Upstream4", Way::upstream4, 4}),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
} // namespace olaf::test::own_mac_test
