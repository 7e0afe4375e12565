// SPDX-License-Identifier: BSD-2-Clause
// By which MAC addresses frames that arrive at a device reach this host.
#include "loader/host/own_macs.hpp"

#include <gtest/gtest.h>

#include <set>

namespace olaf::test::own_macs_test {
namespace {

/// A device whose MAC address ends in its index.
Link link(std::uint32_t ifindex, const char *kind, std::uint32_t lower = 0,
          std::uint32_t master = 0) {
    Link made;
    made.ifindex = ifindex;
    made.master = master;
    made.lower = lower;
    made.kind = kind;
    made.ethernet = true;
    made.mac.mac[5] = static_cast<std::uint8_t>(ifindex);
    return made;
}

std::set<unsigned> own(const std::vector<Link> &links, std::uint32_t ifindex) {
    std::set<unsigned> last_bytes;
    for (const auto &mac : own_macs(links, ifindex))
        last_bytes.insert(mac.mac[5]);
    return last_bytes;
}

using Set = std::set<unsigned>;

TEST(OwnMacs, OfADeviceAloneAreItsOwn) {
    EXPECT_EQ(own({link(1, ""), link(2, "")}, 1), Set{1});
}

TEST(OwnMacs, IncludeWhatIsStackedOnIt) {
    for (const char *kind : {"vlan", "macvlan", "macvtap", "ipvlan", "ipvtap"})
        EXPECT_EQ(own({link(3, kind, 2), link(2, "vlan", 1), link(1, "")}, 1), (Set{1, 2, 3}))
            << kind;
}

TEST(OwnMacs, LeaveOutAPeerATunnelAndWhatIsBelow) {
    EXPECT_EQ(own({link(1, "vlan", 2), link(2, ""), link(3, "veth", 1), link(4, "vxlan", 1)}, 1),
              Set{1});
}

TEST(OwnMacs, OfABondsPortAreTheBondsAndWhatIsOnTop) {
    EXPECT_EQ(own({link(1, "", 0, 9), link(2, "", 0, 9), link(9, "bond"), link(10, "vlan", 9)}, 1),
              (Set{1, 9, 10}));
}

TEST(OwnMacs, OfABridgesPortAreItsPortsToo) {
    EXPECT_EQ(own({link(1, "", 0, 9), link(2, "veth", 0, 9), link(3, ""), link(9, "bridge"),
                   link(10, "vlan", 9)},
                  1),
              (Set{1, 2, 9, 10}));
    // A bond's bridge: the bond is the port.
    EXPECT_EQ(own({link(1, "", 0, 5), link(5, "bond", 0, 9), link(2, "", 0, 9),
                   link(9, "bridge")},
                  1),
              (Set{1, 2, 5, 9}));
}

TEST(OwnMacs, OfAVrfsDeviceAreItsOwn) {
    EXPECT_EQ(own({link(1, "", 0, 9), link(2, "", 0, 9), link(9, "vrf")}, 1), Set{1});
}

TEST(OwnMacs, LeaveOutWhatHasNone) {
    auto tunnel = link(2, "vlan", 1);
    tunnel.ethernet = false;
    EXPECT_EQ(own({link(1, ""), tunnel}, 1), Set{1});
}

} // namespace
} // namespace olaf::test::own_macs_test
