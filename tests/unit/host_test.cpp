// SPDX-License-Identifier: BSD-2-Clause
// What the host is, and what the kernel does with programs.
#include <gtest/gtest.h>

#include <set>

#include "loader/datapath/object.hpp"
#include "loader/host/addresses.hpp"
#include "loader/host/host.hpp"

namespace olaf::test::host_test {
namespace {

// What the kernel says of itself.

TEST(PreemptRt, IsToldByItsFileOrByTheVersionsText) {
    EXPECT_TRUE(tells_preempt_rt("1", ""));
    EXPECT_TRUE(tells_preempt_rt("", "#1 SMP PREEMPT_RT Debian 6.1.90-1 (2024-05-03)"));
    EXPECT_TRUE(tells_preempt_rt("", "#1 SMP PREEMPT RT Debian 4.19.0"));
}

TEST(PreemptRt, OtherKindsOfPreemptionAreNone) {
    EXPECT_FALSE(tells_preempt_rt("0", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.90-1 (2024-05-03)"));
    EXPECT_FALSE(tells_preempt_rt("", "#1 SMP PREEMPT Debian"));
    EXPECT_FALSE(tells_preempt_rt("", ""));
}

// When a program that is loaded for one device may have grown (bpf/bound.bpf.h), or would.

/// Pages of 4 KiB that a program takes behind a header of so many bytes.
std::size_t pages(std::size_t instructions, std::size_t header) {
    return (header + 8 * instructions + 4095) / 4096;
}

TEST(Outgrows, NoProgramThatNeedsMorePagesThanItWasBroughtInWhateverTheirHeader) {
    for (std::size_t header = 56; header <= 256; header += 8)
        for (std::size_t brought = 1; brought < 2 * 512; brought++) {
            EXPECT_FALSE(outgrows({brought, brought}));
            for (std::size_t became = 1; became < 3 * 512; became += 7)
                if (pages(became, header) > pages(brought, header)) {
                    ASSERT_TRUE(outgrows({brought, became})) << brought << " " << became;
                }
        }
}

TEST(Outgrows, AProgramThatTheKernelShortenedDidNot) {
    EXPECT_FALSE(outgrows({2, 1}));
    EXPECT_FALSE(outgrows({10000, 9000}));
}

/// A kernel that doesn't tell: not what isn't known to be safe.
TEST(Outgrows, AProgramOfUnknownLengthMayHave) {
    EXPECT_TRUE(outgrows({2, 0}));
}

TEST(Blinding, IsToldByTheKernelsSetting) {
    EXPECT_EQ(blinding("0", std::nullopt), "");
    EXPECT_EQ(blinding("1", std::nullopt), "net.core.bpf_jit_harden is 1");
    EXPECT_EQ(blinding("2", std::nullopt), "net.core.bpf_jit_harden is 2");
    EXPECT_EQ(blinding("2", 0), "net.core.bpf_jit_harden is 2");
}

/// In other network namespaces than the first the setting can't be read.
TEST(Blinding, IsToldByWhatBecomesOfAProgramWhereTheSettingCantBeRead) {
    EXPECT_EQ(blinding("", 0), "");
    EXPECT_EQ(blinding("", 2), "net.core.bpf_jit_harden isn't 0");
    EXPECT_EQ(blinding("", std::nullopt),
              "whether net.core.bpf_jit_harden is 0 can't be known here");
}

// By which MAC addresses frames that arrive at a device reach this host.

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
    EXPECT_EQ(
        own({link(1, "", 0, 5), link(5, "bond", 0, 9), link(2, "", 0, 9), link(9, "bridge")}, 1),
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
} // namespace olaf::test::host_test
