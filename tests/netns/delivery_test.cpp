// SPDX-License-Identifier: BSD-2-Clause
// Each way of delivery with each IP version, from a worker's socket to a server's: every update
// arrives once, folded or not, with right checksums, and routers count down.
#include <gtest/gtest.h>

#include "traffic.hpp"

namespace olaf::test::delivery_test {
namespace {

struct Case {
    const char *name;
    Way way;
    int family;               ///< of the worker's packets
    bool tx_checksum = false; ///< the worker's device is left the checksum
};

class Delivery : public testing::TestWithParam<Case> {
  protected:
    Testbed bed{{.way = GetParam().way, .worker = {.tx_checksum = GetParam().tx_checksum}}};
    int family = GetParam().family;
    /// IP version of what reaches the server.
    int outer = bed.wiring.way == Way::upstream4   ? 4
                : bed.wiring.way == Way::upstream6 ? 6
                                                   : family;
    UdpSocket worker{bed.worker, Testbed::worker_peer(family)};
    UdpSocket server{bed.server(), Testbed::server_peer(outer)};

    void expect_header(const Datagram &datagram) const {
        // Upstream they come from the host itself; else from the worker, over a router or not.
        const auto source = Peer{.address = outer == 4 ? "10.0.1.254" : "fd00:0:0:1::fe"};
        EXPECT_EQ(datagram.source,
                  bed.upstream() ? source : Testbed::worker_peer(family, worker.port()));
        EXPECT_EQ(datagram.ttl, bed.routes() ? 63 : 64);
    }

    void expect_checksums_right() const {
        EXPECT_EQ(bed.server().snmp("UdpInCsumErrors"), 0u);
        EXPECT_EQ(bed.server().snmp("Udp6InCsumErrors"), 0u);
        EXPECT_EQ(bed.server().snmp("UdpInErrors"), 0u);
        EXPECT_EQ(bed.server().snmp("Udp6InErrors"), 0u);
    }
};

TEST_P(Delivery, AloneItPassesThroughAtOnce) {
    bed.attach();
    for (std::uint32_t i = 1; i <= 5; i++) {
        const Update update{.cluster = 3, .sequence = i, .lanes = {i, ~std::uint64_t{0}, 7}};
        worker.send(update, bed.target(family));
        const auto datagram = server.receive();
        EXPECT_EQ(datagram.update(), update);
        expect_header(datagram);
    }
    const auto status = bed.olaf.status();
    EXPECT_EQ(status["received"], 5u);
    EXPECT_EQ(status["passed_through"], 5u);
    EXPECT_EQ(status.json["mode"], bed.mode());
    expect_identities(status);
    expect_checksums_right();
}

TEST_P(Delivery, FoldsWhatWaitsIntoExactSums) {
    // The link is busy for longer than the burst takes: all but the first must wait.
    bed.attach({"--rate", "200kbit", "--policy", "aggregate"});
    const auto updates = random_updates(40, 2, 16, 1);
    Tally sent, received;
    for (const auto &update : updates) {
        worker.send(update, bed.target(family));
        sent.add(update);
    }
    while (received.updates < sent.updates) {
        const auto datagram = server.receive();
        received.add(datagram.update());
        expect_header(datagram);
    }
    EXPECT_EQ(received.clusters, sent.clusters);
    EXPECT_LT(received.messages, sent.messages);
    const auto status = bed.olaf.await_drained(40);
    EXPECT_EQ(status["received"], 40u);
    EXPECT_EQ(status["updates_out"], 40u);
    EXPECT_EQ(status["aggregated"] + received.messages, 40u);
    EXPECT_EQ(status["departed"] + status["passed_through"], received.messages);
    EXPECT_EQ(status.failed(), 0u);
    expect_identities(status);
    expect_checksums_right();
}

INSTANTIATE_TEST_SUITE_P(
    All, Delivery,
    testing::Values(Case{"Local4", Way::local, 4}, Case{"Local6", Way::local, 6},
                    Case{"LocalPartialChecksum4", Way::local, 4, true},
                    Case{"LocalPartialChecksum6", Way::local, 6, true},
                    Case{"Bridged4", Way::bridged, 4}, Case{"Bridged6", Way::bridged, 6},
                    Case{"BridgedPartialChecksum4", Way::bridged, 4, true},
                    Case{"BridgedPartialChecksum6", Way::bridged, 6, true},
                    Case{"Routed4", Way::routed, 4}, Case{"Routed6", Way::routed, 6},
                    Case{"OneArmed4", Way::one_armed, 4}, Case{"OneArmed6", Way::one_armed, 6},
                    Case{"Upstream4", Way::upstream4, 4}, Case{"Upstream6", Way::upstream6, 6},
                    Case{"Upstream4From6", Way::upstream4, 6},
                    Case{"Upstream6From4", Way::upstream6, 4}),
    [](const auto &info) { return std::string(info.param.name); });

} // namespace
} // namespace olaf::test::delivery_test
