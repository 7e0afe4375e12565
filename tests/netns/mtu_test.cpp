// SPDX-License-Identifier: BSD-2-Clause
// Updates that fill the MTU, and an output that carries less than the input.
#include <gtest/gtest.h>

#include "traffic.hpp"

namespace olaf::test::mtu_test {
namespace {

// Updates that fill the MTU, from sockets: linear frames and ones of several buffers.

struct Size {
    const char *name;
    unsigned mtu;
    int family;
    Way way;
};

class Mtu : public testing::TestWithParam<Size> {
  protected:
    SocketBed bed{{.way = GetParam().way, .mtu = GetParam().mtu}, GetParam().family};

    /// Data lanes of the largest update, the checksum lane being the last of 9,036 bytes' 1,120.
    [[nodiscard]] std::size_t most_lanes() const {
        const unsigned ip_bytes = bed.family == 4 ? 20 : 40;
        return (GetParam().mtu - ip_bytes - 8 - 48) / 8 - 1;
    }
};

TEST_P(Mtu, TheLargestUpdatePassesFoldsAndDeparts) {
    bed.attach({"--rate", "1mbit", "--policy", "aggregate"});
    // One size for all: the first leaves at once, others wait and fold into each other.
    const auto sent = bed.send(random_updates(24, 3, most_lanes(), 2));
    const auto received = bed.expect_arrival(sent);
    EXPECT_LT(received.messages, sent.messages);
    const auto status = bed.olaf.await_drained(24);
    EXPECT_EQ(status["received"], 24u);
    EXPECT_EQ(status["malformed"], 0u);
    EXPECT_EQ(status.failed(), 0u);
    expect_identities(status);
    bed.expect_checksums_right();
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
                         by_name);

// ---- output mtu ----
// The output carries less than the input: what can't leave is refused when it arrives.

struct Output {
    const char *name;
    Way way;
    int family; ///< of workers
    unsigned mtu, out_mtu;
    const char *mode = "auto";
};

class OutputMtu : public testing::TestWithParam<Output> {
  protected:
    SocketBed bed{{.way = GetParam().way, .mtu = GetParam().mtu, .out_mtu = GetParam().out_mtu},
                  GetParam().family};
    PacketSocket worker{bed.worker, "eth0"};

    /// Lanes, a checksum lane included, of the largest that can leave.
    [[nodiscard]] std::size_t most_lanes() const {
        return (GetParam().out_mtu - (bed.outer == 4 ? 20 : 40) - 8 - 48) / 8;
    }
    [[nodiscard]] std::size_t lanes_in() const {
        return (GetParam().mtu - (bed.family == 4 ? 20 : 40) - 8 - 48) / 8;
    }
};

TEST_P(OutputMtu, EveryUpdateArrivesOrIsRefusedForItsSize) {
    bed.attach({"--rate", "1mbit", "--policy", "aggregate", "--mode", GetParam().mode});
    ASSERT_LT(most_lanes(), lanes_in());
    const auto most = most_lanes();
    Tally fitting;
    std::uint64_t oversized = 0;
    std::uint32_t cluster = 0;
    // Each size in a cluster of its own; several of each, so that they fold and the drain sends.
    for (const auto lanes : {std::size_t{4}, most - 1, most, most + 1, lanes_in()})
        for (auto update : random_updates(6, 1, lanes - 1, static_cast<unsigned>(lanes))) {
            update.cluster = 100 + cluster++ / 6;
            worker.send(bed.path(bed.family).carrying(update));
            if (lanes <= most)
                fitting.add(update);
            else
                oversized++;
        }
    bed.expect_arrival(fitting);
    const auto status = bed.olaf.await_drained(fitting.messages);
    EXPECT_EQ(status.json.at("not_allowed_by_reason").at("size"), oversized);
    EXPECT_EQ(status["updates_out"], fitting.updates);
    EXPECT_EQ(status.failed(), 0u);
    for (const auto &[where, frames] : status.json.at("lost_behind").items())
        EXPECT_TRUE(frames.is_null() || frames == 0) << where;
    auto taken = status; // the identities are about what was taken
    taken.json["counters"]["not_allowed"] = status["not_allowed"] - oversized;
    expect_identities(taken);
}

INSTANTIATE_TEST_SUITE_P(
    All, OutputMtu,
    testing::Values(Output{"Bridged4", Way::bridged, 4, 1500, 1280},
                    Output{"Bridged6", Way::bridged, 6, 1500, 1280},
                    Output{"Bridged4Generic", Way::bridged, 4, 1500, 1280, "skb"},
                    Output{"Routed4", Way::routed, 4, 1500, 1280},
                    Output{"Routed6", Way::routed, 6, 1500, 1280},
                    Output{"Routed4Jumbo", Way::routed, 4, 9000, 1500},
                    Output{"Upstream4", Way::upstream4, 4, 1500, 1280},
                    Output{"Upstream6", Way::upstream6, 6, 1500, 1280},
                    Output{"Upstream6From4SameMtu", Way::upstream6, 4, 1500, 1500},
                    Output{"Upstream4From6", Way::upstream4, 6, 1500, 1280},
                    Output{"Upstream6From4Generic", Way::upstream6, 4, 1500, 1500, "skb"}),
    by_name);

/// The MTU shrinks while updates wait: the device itself checks nothing of what a drain sends.
class OutputMtuShrinks : public testing::TestWithParam<Way> {};

TEST_P(OutputMtuShrinks, WhatNoLongerFitsIsCountedAndNotSent) {
    SocketBed bed{{.way = GetParam()}};
    bed.attach(slow_link);
    occupy(bed);
    bed.send(Update{.cluster = 1, .lanes = std::vector<std::uint64_t>(170, 7)});
    bed.send(Update{.cluster = 2, .lanes = {7}});
    bed.olaf.await([](const Status &s) { return s["updates_waiting"] == 2; });
    bed.host.ip("link set out mtu 1280\n");
    bed.olaf.await([](const Status &s) { return s["updates_waiting"] == 0; });
    EXPECT_EQ(bed.receive().cluster, 2u);
    const auto status = bed.olaf.await_drained(4);
    EXPECT_EQ(status.json.at("departures_failed").at("unfit"), 1);
    EXPECT_EQ(status["updates_dropped"], 1u);
    EXPECT_EQ(status["updates_out"], 3u);
    expect_identities(status);
}

TEST_P(OutputMtuShrinks, WhatRidesAndNoLongerFitsIsCountedAsLostBehind) {
    SocketBed bed{{.way = GetParam()}};
    bed.attach({"--rate", "2mbit"});
    bed.host.ip("link set out mtu 1280\n");
    const std::vector<std::uint64_t> large(170, 7);
    std::uint32_t sent = 0;
    bed.olaf.await([&](const Status &s) { // one that is due just when a frame arrives
        for (int i = 0; i < 50; i++)
            bed.send(Update{.cluster = sent++ % 50, .lanes = large});
        return s["departed_riding"] != 0;
    });
    bed.olaf.await_drained(sent);
    bed.send(Update{.cluster = 99, .lanes = {7}});
    EXPECT_EQ(bed.receive().cluster, 99u);
    const auto status = bed.olaf.await_drained(sent + 1);
    const auto lost = status.lost_behind();
    EXPECT_EQ(status["updates_out"], lost + 1) << status.json;
    EXPECT_GT(lost, 0u);
    expect_identities(status);
}

INSTANTIATE_TEST_SUITE_P(All, OutputMtuShrinks, testing::Values(Way::bridged, Way::routed), by_way);

class OutputMtuNotes : public testing::Test {
  protected:
    Testbed bed{{.way = Way::bridged, .out_mtu = 1280}};
    std::string said(const std::vector<std::string> &arguments) {
        const auto outcome = bed.olaf(arguments);
        EXPECT_EQ(outcome.status, 0) << outcome.err;
        return outcome.err;
    }
};

TEST_F(OutputMtuNotes, AttachSaysWhatFitsWhereThatIsLess) {
    const auto text = said({"attach", "in", "--forward", "out"});
    EXPECT_TRUE(says(text, "updates of at most 150 lanes fit out (out has MTU 1280)"));
    auto limits = bed.olaf.status().json.at("limits");
    EXPECT_EQ(limits.at("max_lanes"), 160); // rounded up
    EXPECT_EQ(limits.at("egress_mtu"), 1280);

    bed.host.ip("link set out mtu 1400\n");
    const auto advice = bed.olaf({"doctor", "in"}).out;
    EXPECT_TRUE(says(advice, "1400 of out is not the 1280 that the queue keeps to"));
    bed.olaf.replace();
    EXPECT_EQ(bed.olaf.status().json.at("limits").at("egress_mtu"), 1400);
    EXPECT_FALSE(says(bed.olaf({"doctor", "in"}).out, "keeps to"));
    said({"detach", "in"});
}

// A queue's maps have the size that they were made with. What is said does help.
TEST(MtuRaisedLater, IsNamedWithWhatHelps) {
    SocketBed bed{{.way = Way::local}};
    const auto send_larger = [&] { return bed.send(random_updates(3, 1, 300, 9)); };
    bed.attach();
    EXPECT_FALSE(says(bed.olaf({"doctor", "in"}).out, "room for updates"));
    bed.worker.ip("link set eth0 mtu 3000\n");
    bed.host.ip("link set in mtu 3000\n");
    send_larger();
    const auto refused = bed.olaf.await(
        [](const Status &status) { return status.json.at("not_allowed_by_reason").at("size") == 3; });
    const auto &verdict = refused.json.at("verdict");
    EXPECT_TRUE(says(verdict.dump(), "olaf detach in, then attach again"));
    const std::string room = "room for updates of 192 lanes, as it was attached, and its MTU carries 365 now";
    EXPECT_TRUE(says(bed.olaf({"doctor", "in"}).out, room));
    EXPECT_TRUE(says(bed.olaf({"attach", "in", "--replace"}).err, room));
    bed.olaf.detach();
    bed.attach();
    EXPECT_FALSE(says(bed.olaf({"doctor", "in"}).out, "room for updates"));
    EXPECT_FALSE(says(bed.olaf({"attach", "in", "--replace"}).err, "room for updates"));
    bed.expect_arrival(send_larger());
}

// No update has more lanes, so no MTU asks for a larger queue.
TEST(MtuOfTheLargestUpdate, IsNeverOutgrown) {
    Testbed bed{{.way = Way::local, .mtu = 9600}};
    const auto told = bed.olaf({"attach", "in", "--local"});
    ASSERT_EQ(told.status, 0) << told.err;
    EXPECT_TRUE(says(told.err, "updates of at most 1152 lanes come in (in has MTU 9600); larger models take "
                               "segments"));
    EXPECT_FALSE(says(bed.olaf({"doctor", "in"}).out, "room for updates"));
    EXPECT_FALSE(says(bed.olaf({"attach", "in", "--replace"}).err, "room for updates"));
    EXPECT_EQ(bed.olaf({"detach", "in"}).status, 0);
}

TEST_F(OutputMtuNotes, AnExplicitMaxLanesThatDoesNotFitIsSaid) {
    const auto text = said({"attach", "in", "--forward", "out", "--max-lanes", "170"});
    EXPECT_TRUE(says(text, "at most 150 lanes fit out"));
    EXPECT_TRUE(says(text, "whatever --max-lanes says"));
    said({"detach", "in"});
    EXPECT_FALSE(says(said({"attach", "in", "--forward", "out", "--max-lanes", "100"}), "fit out"));
    said({"detach", "in"});
}

TEST_F(OutputMtuNotes, AnMtuThatCarriesNothingIsRefused) {
    bed.host.ip("link set out mtu 80\n");
    const auto outcome = bed.olaf({"attach", "in", "--forward", "out"});
    EXPECT_TRUE(refused(outcome, "its MTU, 80, carries none"));
}

} // namespace
} // namespace olaf::test::mtu_test
