// SPDX-License-Identifier: BSD-2-Clause
// --forward bridges only where a bridge stands, and says what it took.
#include <gtest/gtest.h>

#include "testbed.hpp"

namespace olaf::test::bridging_test {
namespace {

/// What attach says besides its result; attaches.
std::string said(Testbed &bed, const std::vector<std::string> &more = {}) {
    std::vector<std::string> arguments = {"attach", "in", "--forward", "out"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const auto outcome = bed.olaf(arguments);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return outcome.err;
}

bool bridges(const Testbed &bed) {
    return bed.olaf.status().json.at("deliver").at("bridge").get<bool>();
}

class Bridging : public testing::Test {
  protected:
    static void detach(Testbed &bed) { EXPECT_EQ(bed.olaf({"detach", "in"}).status, 0); }
    static bool has(const std::string &text, const std::string &part) {
        return text.find(part) != text.npos;
    }
};

TEST_F(Bridging, APortOfABridgeBridges) {
    Testbed bed{{.way = Way::bridged}};
    const auto text = said(bed);
    EXPECT_TRUE(has(text, "forwards as a bridge only (in is a port of bridge)")) << text;
    EXPECT_TRUE(bridges(bed));
    bed.olaf.replace({"--rate", "1gbit"});
    EXPECT_TRUE(bridges(bed)); // kept
    bed.host.sysctl("ipv4/ip_forward", "1");
    bed.olaf.replace({"--no-bridge"});
    EXPECT_FALSE(bridges(bed));
    bed.olaf.replace();
    EXPECT_FALSE(bridges(bed));
    detach(bed);
}

TEST_F(Bridging, ADeviceWithAnAddressRoutesUnlessAsked) {
    Testbed bed{{.way = Way::routed}};
    auto text = said(bed);
    EXPECT_TRUE(has(text, "forwards as a router only (in has an address)")) << text;
    EXPECT_FALSE(bridges(bed));
    detach(bed);
    text = said(bed, {"--bridge"});
    EXPECT_TRUE(has(text, "forwards as a bridge and a router (--bridge)")) << text;
    EXPECT_TRUE(bridges(bed));
    detach(bed);
}

TEST_F(Bridging, ADeviceWithoutAddressAndMasterBridges) {
    Testbed bed{{.way = Way::routed}};
    bed.host.ip("address flush dev in\n"); // link-local ones remain or not: no matter
    EXPECT_TRUE(has(said(bed), "forwards as a bridge and a router (in has no address)"));
    EXPECT_TRUE(bridges(bed));
    detach(bed);
    bed.host.ip("address add fd00::fe/64 dev in nodad\n");
    said(bed);
    EXPECT_FALSE(bridges(bed));
    detach(bed);
}

TEST_F(Bridging, AnAddressOnTopOfTheDeviceMakesItARouter) {
    Testbed bed{{.way = Way::routed}};
    bed.host.ip("address flush dev in\n"
                "link add link in name vrrp type macvlan\n"
                "address add 10.0.0.254/24 dev vrrp\n");
    EXPECT_TRUE(has(said(bed), "forwards as a router only"));
    detach(bed);
}

TEST_F(Bridging, NeitherBridgeNorRouterIsRefusedWithTheRemedy) {
    Testbed bed{{.way = Way::routed}};
    for (const char *version : {"ipv4", "ipv6"})
        bed.host.sysctl(std::string(version) + "/conf/out/forwarding", "0");
    const auto outcome = bed.olaf({"attach", "in", "--forward", "out"});
    EXPECT_EQ(outcome.status, 1);
    EXPECT_TRUE(has(outcome.err, "net.ipv4.conf.out.forwarding=1")) << outcome.err;
    EXPECT_TRUE(has(outcome.err, "--bridge")) << outcome.err;
    bed.host.sysctl("ipv6/conf/out/forwarding", "1");
    EXPECT_TRUE(has(said(bed), "IPv4 isn't routed until sysctl net.ipv4.conf.out.forwarding=1"));
    detach(bed);
}

TEST_F(Bridging, IsRefusedWithoutForward) {
    Testbed bed;
    const auto outcome = bed.olaf({"attach", "in", "--local", "--bridge"});
    EXPECT_EQ(outcome.status, 1);
    EXPECT_TRUE(has(outcome.err, "--forward")) << outcome.err;
}

} // namespace
} // namespace olaf::test::bridging_test
