// SPDX-License-Identifier: BSD-2-Clause
// Updates that fill the MTU, from sockets: linear frames and ones of several buffers.
#include <gtest/gtest.h>

#include "traffic.hpp"

namespace olaf::test::mtu_test {
namespace {

struct Size {
    const char *name;
    unsigned mtu;
    int family;
    Way way;
};

class Mtu : public testing::TestWithParam<Size> {
  protected:
    int family = GetParam().family;
    Testbed bed{{.way = GetParam().way, .mtu = GetParam().mtu}};
    UdpSocket worker{bed.worker, Testbed::worker_peer(family)};
    UdpSocket server{bed.server(), Testbed::server_peer(family)};

    /// Data lanes of the largest update, the checksum lane being the last of 9,036 bytes' 1,120.
    [[nodiscard]] std::size_t most_lanes() const {
        const unsigned ip_bytes = family == 4 ? 20 : 40;
        return (GetParam().mtu - ip_bytes - 8 - 48) / 8 - 1;
    }
};

TEST_P(Mtu, TheLargestUpdatePassesFoldsAndDeparts) {
    bed.attach({"--rate", "1mbit", "--policy", "aggregate"});
    // One size for all: the first leaves at once, others wait and fold into each other.
    const auto updates = random_updates(24, 3, most_lanes(), 2);
    Tally sent, received;
    for (const auto &update : updates) {
        worker.send(update, bed.target(family));
        sent.add(update);
    }
    while (received.updates < sent.updates)
        received.add(server.receive().update());
    EXPECT_EQ(received.clusters, sent.clusters);
    EXPECT_LT(received.messages, sent.messages);
    const auto status = bed.olaf.await_drained(24);
    EXPECT_EQ(status["received"], 24u);
    EXPECT_EQ(status["malformed"], 0u);
    EXPECT_EQ(status.failed(), 0u);
    expect_identities(status);
    EXPECT_EQ(bed.server().snmp(family == 4 ? "UdpInCsumErrors" : "Udp6InCsumErrors"), 0u);
}

INSTANTIATE_TEST_SUITE_P(All, Mtu,
                         testing::Values(Size{"Mtu1500Local4", 1500, 4, Way::local},
                                         Size{"Mtu1500Bridged4", 1500, 4, Way::bridged},
                                         Size{"Mtu1500Bridged6", 1500, 6, Way::bridged},
                                         Size{"Mtu9000Local4", 9000, 4, Way::local},
                                         Size{"Mtu9000Local6", 9000, 6, Way::local},
                                         Size{"Mtu9000Bridged4", 9000, 4, Way::bridged},
                                         Size{"Mtu9000Routed6", 9000, 6, Way::routed},
                                         Size{"Mtu9000Upstream4", 9000, 4, Way::upstream4},
                                         Size{"Ip9036BytesLocal4", 9036, 4, Way::local},
                                         Size{"Ip9036BytesBridged4", 9036, 4, Way::bridged},
                                         Size{"Ip9036BytesRouted4", 9036, 4, Way::routed}),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
} // namespace olaf::test::mtu_test
