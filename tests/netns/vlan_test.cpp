// SPDX-License-Identifier: BSD-2-Clause
// Tagged updates, with their tags among the bytes of a frame and beside them.
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>

#include "traffic.hpp"

namespace olaf::test::vlan_test {
namespace {

/// Two large updates, by which the link is busy from here on. `exchange` sends one and returns what came.
void keep_busy(const std::function<Update(const Update &)> &exchange) {
    const Update busy{.cluster = busy_cluster, .lanes = std::vector<std::uint64_t>(128, 1)};
    for (int i = 0; i < 2; i++)
        ASSERT_EQ(exchange(busy), busy);
}

/// Tags among the bytes stay, before and after folding. Other forms of headers: tests/datapath's random steps.
TEST(Vlan, UpdatesFoldUnderTheNewestsTags) {
    Testbed bed{{.way = Way::bridged}};
    const PacketSocket worker(bed.worker, "eth0"), server(bed.server(), "eth0");
    const auto path = [&] { return bed.path().service_vlan(100).vlan(7); };
    bed.attach(joined(slow_link, {"--policy", "aggregate"}));
    keep_busy([&](const Update &busy) {
        const auto frame = path().carrying(busy);
        worker.send(frame);
        const auto received = server.receive_update();
        EXPECT_EQ(hex(received.frame.bytes), hex(frame.bytes));
        return received.update;
    });
    for (std::uint16_t i = 1; i <= 3; i++)
        worker.send(path().id(i).carrying(
            Update{.cluster = 2, .worker = 6u + i, .sequence = 1u + i, .lanes = {i, ~std::uint64_t{0} - i}}));
    const Update sum{.cluster = 2,
                     .worker = 9,
                     .sequence = 4,
                     .count = 3,
                     .extra_flags = OLAF_FLAG_AGGREGATED,
                     .lanes = {1 + 2 + 3, ~std::uint64_t{0} - 2 - 1 - 2 - 3}};
    const auto newest = path().id(3);
    EXPECT_EQ(hex(server.receive_update().frame.bytes), hex(newest.carrying(sum).bytes));
    expect_identities(bed.olaf.await_drained(5));
}

// ---- vlan beside ----
// Tags beside the bytes of a frame, which an XDP program doesn't find among them: tagged updates
// pass the queue by and keep their tag, untagged ones never get one.

class VlanBeside : public testing::TestWithParam<Route> {
  protected:
    Testbed bed{{.way = GetParam().way, .worker = {.tx_vlan = true}}};
    TagsBeside tags{bed.worker, "eth0"};
    PacketSocket worker{bed.worker, "eth0"};
    PacketSocket server{bed.server(), bed.server_device()};

    [[nodiscard]] Path untagged() const { return bed.path(GetParam().family); }
    [[nodiscard]] Path tagged() const { return untagged().from(tagged_mac); }

    void attach(std::vector<std::string> more = {}) {
        more.insert(more.end(), {"--mode", GetParam().mode, "--policy", "aggregate"});
        bed.attach(more);
    }
    /// The next update. A socket on the queue's own device sees its token as well.
    [[nodiscard]] Received next() const {
        while (auto bytes = server.poll(patience))
            if (auto received = parse_update(std::move(*bytes)))
                return std::move(*received);
        throw WaitRanOut("an update");
    }
    void occupy() {
        keep_busy([&](const Update &busy) {
            worker.send(untagged().carrying(busy));
            return next().update;
        });
    }
    /// Two updates of cluster 2, two lanes each, have become one that has no tag.
    void expect_sum() {
        const Update sum{
            .cluster = 2, .count = 2, .extra_flags = OLAF_FLAG_AGGREGATED, .lanes = {2, 4}};
        const auto departed = next();
        EXPECT_EQ(departed.update, sum);
        EXPECT_EQ(departed.frame.l3, 14u) << "a departure got a tag";
    }
    void expect_four_out() {
        const auto status = bed.olaf.await_drained(4);
        EXPECT_EQ(status["updates_out"], 4u);
        expect_identities(status);
    }
    [[nodiscard]] std::uint64_t bypassed_tagged() const {
        return bed.olaf.status().json["bypassed_by_reason"]["tagged"].get<std::uint64_t>();
    }
};

TEST_P(VlanBeside, TaggedUpdatesBypassAndUntaggedOnesFoldWithoutThem) {
    attach(slow_link);
    occupy();
    const Update update{.cluster = 2, .lanes = {1, 2}};
    const auto one = tagged().id(1).carrying(update), two = tagged().id(2).carrying(update);
    worker.send(untagged().carrying(update));
    worker.send(one);
    EXPECT_EQ(hex(next().frame.bytes), hex(with_tag(one)));
    worker.send(untagged().carrying(update));
    worker.send(two);
    EXPECT_EQ(hex(next().frame.bytes), hex(with_tag(two)));
    expect_sum();
    EXPECT_EQ(bypassed_tagged(), 2u);
    expect_four_out();
}

TEST_P(VlanBeside, NoDepartureRidesInATaggedFrame) {
    attach({"--rate", "1mbit"});
    constexpr std::uint32_t rounds = 100;
    for (std::uint32_t i = 1; i <= rounds; i++) {
        worker.send(untagged().carrying(Update{.cluster = 1, .sequence = i}));
        worker.send(tagged().carrying(Update{.cluster = 2, .sequence = i}));
    }
    std::uint32_t with = 0, without = 0;
    while (with + without < 2 * rounds) {
        const auto received = next();
        EXPECT_EQ(received.frame.l3, received.update.cluster == 2 ? 18u : 14u);
        (received.update.cluster == 2 ? with : without) += received.update.count;
    }
    EXPECT_EQ(with, rounds);
    EXPECT_EQ(bypassed_tagged(), rounds);
    expect_identities(bed.olaf.await_drained(rounds));
}

TEST_P(VlanBeside, AReplacementGoesOnSeeingThem) {
    attach();
    bed.olaf.replace();
    const auto frame = tagged().carrying(Update{.cluster = 2});
    worker.send(frame);
    EXPECT_EQ(hex(next().frame.bytes), hex(with_tag(frame)));
    EXPECT_EQ(bypassed_tagged(), 1u);
}

/// A clone of it becomes the token, and departures leave in that.
TEST_P(VlanBeside, ATaggedFrameThatReplacesALostTokenLeavesItsTagBehind) {
    attach({"--rate", "5kbit"}); // so slow that the update still waits when its token is gone
    occupy();
    worker.send(untagged().carrying(Update{.cluster = 2}));
    bed.olaf.await([](const Status &s) { return s.drain("launched") == 1; });
    bed.set_drain("down");
    bed.set_drain("up");
    const auto frame = experimental_frame(tagged_mac, server_mac);
    await(
        [&] {
            worker.send(frame);
            return bed.olaf.status().drain("launched") != 1;
        },
        [] { return "a second token"; });
    const auto departed = next();
    EXPECT_EQ(departed.update.cluster, 2u);
    EXPECT_EQ(departed.frame.l3, 14u) << "a departure got a tag";
}

INSTANTIATE_TEST_SUITE_P(All, VlanBeside,
                         testing::Values(Route{"Local4Native", Way::local, 4, "native"},
                                         Route{"Local6Generic", Way::local, 6, "skb"},
                                         Route{"Bridged4Native", Way::bridged, 4, "native"},
                                         Route{"Bridged6Native", Way::bridged, 6, "native"},
                                         Route{"Bridged4Generic", Way::bridged, 4, "skb"},
                                         Route{"Bridged6Generic", Way::bridged, 6, "skb"}),
                         by_name);

class VlanBesideRouted : public VlanBeside {};

/// Without a VLAN device of the host's the kernel drops tagged frames, with and without us.
TEST_P(VlanBesideRouted, TaggedUpdatesAreTheKernelsAndUntaggedOnesFoldWithoutThem) {
    attach(slow_link);
    occupy();
    const Update update{.cluster = 2, .lanes = {1, 2}};
    worker.send(untagged().carrying(update));
    worker.send(tagged().carrying(update));
    worker.send(untagged().carrying(update));
    expect_sum();
    EXPECT_EQ(bypassed_tagged(), 1u);
    expect_four_out();
}

INSTANTIATE_TEST_SUITE_P(All, VlanBesideRouted,
                         testing::Values(Route{"4Native", Way::routed, 4, "native"},
                                         Route{"6Native", Way::routed, 6, "native"},
                                         Route{"4Generic", Way::routed, 4, "skb"},
                                         Route{"6Generic", Way::routed, 6, "skb"}),
                         by_name);

/// A kernel without BTF has no notes: what then waits loses its tag, but nobody gets one.
TEST(VlanBesideUnseen, NoUntaggedUpdateGetsATag) {
    Testbed bed{{.way = Way::bridged, .worker = {.tx_vlan = true}}};
    const TagsBeside tags(bed.worker, "eth0");
    const PacketSocket worker(bed.worker, "eth0"), server(bed.server(), "eth0");
    bed.attach({"--mode", "skb", "--rate", "1mbit", "--policy", "aggregate"});
    ASSERT_TRUE(std::filesystem::remove(pin_directory(bed.host, "in") + "/olaf_beside_note"));
    constexpr std::uint32_t rounds = 100;
    for (std::uint32_t i = 1; i <= rounds; i++) {
        worker.send(bed.path().from(tagged_mac).carrying(Update{.cluster = 2, .sequence = i}));
        worker.send(bed.path().carrying(Update{.cluster = 1, .sequence = i}));
    }
    for (std::uint32_t updates = 0; updates < 2 * rounds;) {
        const auto received = server.receive_update();
        if (received.update.cluster == 1) {
            EXPECT_EQ(received.frame.l3, 14u);
        }
        updates += received.update.count;
    }
}

/// The tagged update is the first that waits: its frame becomes the token.
TEST(VlanBesideUnseen, ATokenLeavesTheTagOfItsFrameBehind) {
    Testbed bed{{.way = Way::bridged, .worker = {.tx_vlan = true}}};
    const TagsBeside tags(bed.worker, "eth0");
    const PacketSocket worker(bed.worker, "eth0"), server(bed.server(), "eth0");
    const auto attach = bed.olaf.without_btf("attach in --forward out --mode skb --rate 5kbit");
    ASSERT_EQ(attach.status, 0) << attach.err;
    keep_busy([&](const Update &busy) {
        worker.send(bed.path().carrying(busy));
        return server.receive_update().update;
    });
    worker.send(bed.path().from(tagged_mac).carrying(Update{.cluster = 2}));
    bed.olaf.await([](const Status &s) { return s.drain("launched") == 1; });
    worker.send(bed.path().carrying(Update{.cluster = 1}));
    for (const std::uint32_t cluster : {2, 1}) {
        const auto received = server.receive_update();
        EXPECT_EQ(received.update.cluster, cluster);
        EXPECT_EQ(received.frame.l3, 14u) << "a departure got the token's tag";
    }
}

/// Nor does it let a program ask the driver. Attach says so in both modes, with the remedy.
TEST(VlanBesideUnseen, AttachSaysSo) {
    Testbed bed{{.worker = {.tx_vlan = true}}};
    const auto said = [&](const std::string &mode) {
        const auto attach = bed.olaf.without_btf("attach in --local --mode " + mode);
        EXPECT_EQ(attach.status, 0) << attach.err;
        bed.olaf.detach();
        return attach.err;
    };
    for (const auto *mode : {"native", "skb"}) {
        const auto text = said(mode);
        EXPECT_TRUE(says(text, "in: VLAN tags that aren't among a frame's bytes can't be seen"));
        EXPECT_TRUE(says(text, "ethtool -K PEER txvlan off on in's peer"));
    }
}

} // namespace
} // namespace olaf::test::vlan_test
