// SPDX-License-Identifier: BSD-2-Clause
// Tagged updates through a bump in the wire: the tags stay, before and after folding.
#include <gtest/gtest.h>

#include "traffic.hpp"

namespace olaf::test::vlan_test {
namespace {

struct Tags {
    const char *name;
    int family;
    int tags;
};

class Vlan : public testing::TestWithParam<Tags> {
  protected:
    [[nodiscard]] Path path() const {
        auto path = bed.path(GetParam().family);
        if (GetParam().tags == 2)
            path.service_vlan(100);
        if (GetParam().tags >= 1)
            path.vlan(7);
        return path;
    }
    Testbed bed{{.way = Way::bridged}};
    PacketSocket worker{bed.worker, "eth0"};
    PacketSocket server{bed.server(), "eth0"};
};

TEST_P(Vlan, PassesThroughByteIdentical) {
    bed.attach();
    const auto frame = path().id(0x77).tos(8).carrying(Update{.cluster = 2, .lanes = {5, 6, 7}});
    worker.send(frame);
    EXPECT_EQ(hex(server.receive_update().frame.bytes), hex(frame.bytes));
    EXPECT_EQ(bed.olaf.status()["passed_through"], 1u);
}

TEST_P(Vlan, FoldsUnderTheNewestsTags) {
    auto options = slow_link;
    options.insert(options.end(), {"--policy", "aggregate"});
    bed.attach(options);
    const Update busy{.cluster = busy_cluster, .lanes = std::vector<std::uint64_t>(128, 1)};
    for (int i = 0; i < 2; i++) {
        worker.send(path().carrying(busy));
        EXPECT_EQ(server.receive_update().update, busy);
    }
    Update sum{.cluster = 2, .worker = 9, .sequence = 4, .count = 3, .lanes = {0, 0}};
    for (std::uint16_t i = 1; i <= 3; i++) {
        Update update{.cluster = 2, .worker = 6u + i, .sequence = 1u + i, .lanes = {i, 1u}};
        update.lanes[1] = ~std::uint64_t{0} - i;
        sum.lanes[0] += update.lanes[0];
        sum.lanes[1] += update.lanes[1];
        worker.send(
            path().id(i).source_port(static_cast<std::uint16_t>(5000 + i)).carrying(update));
    }
    sum.extra_flags = OLAF_FLAG_AGGREGATED;
    const auto newest = path().id(3).source_port(5003).without_udp_checksum();
    EXPECT_EQ(hex(server.receive_update().frame.bytes), hex(newest.carrying(sum).bytes));
    expect_identities(bed.olaf.await_drained(5));
}

INSTANTIATE_TEST_SUITE_P(All, Vlan,
                         testing::Values(Tags{"Untagged4", 4, 0}, Tags{"One4", 4, 1},
                                         Tags{"Two4", 4, 2}, Tags{"Untagged6", 6, 0},
                                         Tags{"One6", 6, 1}, Tags{"Two6", 6, 2}),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
} // namespace olaf::test::vlan_test
