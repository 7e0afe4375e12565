// SPDX-License-Identifier: BSD-2-Clause
// The output carries less than the input: what can't leave is refused when it arrives.
#include <gtest/gtest.h>

#include "traffic.hpp"

namespace olaf::test::output_mtu_test {
namespace {

struct Output {
    const char *name;
    Way way;
    int family; ///< of workers
    unsigned mtu, out_mtu;
    bool skb = false;
};

class OutputMtu : public testing::TestWithParam<Output> {
  protected:
    int family = GetParam().family;
    Testbed bed{
        {.way = GetParam().way, .mtu = GetParam().mtu, .out_mtu = GetParam().out_mtu}};
    UdpSocket server{bed.server(), Testbed::server_peer(out_family())};
    PacketSocket worker{bed.worker, "eth0"};

    [[nodiscard]] int out_family() const {
        return bed.wiring.way == Way::upstream4   ? 4
               : bed.wiring.way == Way::upstream6 ? 6
                                                  : family;
    }
    /// Lanes, a checksum lane included, of the largest that can leave.
    [[nodiscard]] std::size_t most_lanes() const {
        return (GetParam().out_mtu - (out_family() == 4 ? 20 : 40) - 8 - 48) / 8;
    }
    [[nodiscard]] std::size_t lanes_in() const {
        return (GetParam().mtu - (family == 4 ? 20 : 40) - 8 - 48) / 8;
    }
};

TEST_P(OutputMtu, EveryUpdateArrivesOrIsRefusedForItsSize) {
    auto options = std::vector<std::string>{"--rate", "1mbit", "--policy", "aggregate"};
    if (GetParam().skb)
        options.insert(options.end(), {"--mode", "skb"});
    bed.attach(options);
    ASSERT_LT(most_lanes(), lanes_in());
    const auto most = most_lanes();
    Tally fitting, received;
    std::uint64_t oversized = 0;
    std::uint32_t cluster = 0;
    // Each size in a cluster of its own; several of each, so that they fold and the drain sends.
    for (const auto lanes : {std::size_t{4}, most - 1, most, most + 1, lanes_in()})
        for (auto update : random_updates(6, 1, lanes - 1, static_cast<unsigned>(lanes))) {
            update.cluster = 100 + cluster++ / 6;
            worker.send(bed.path(family).carrying(update));
            if (lanes <= most)
                fitting.add(update);
            else
                oversized++;
        }
    while (received.updates < fitting.updates)
        received.add(server.receive().update());
    EXPECT_EQ(received.clusters, fitting.clusters);
    const auto status = bed.olaf.await_drained(fitting.messages);
    EXPECT_EQ(status.json.at("not_allowed_by_reason").at("size"), oversized);
    EXPECT_EQ(status["updates_out"], received.updates);
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
                    Output{"Bridged4Generic", Way::bridged, 4, 1500, 1280, true},
                    Output{"Routed4", Way::routed, 4, 1500, 1280},
                    Output{"Routed6", Way::routed, 6, 1500, 1280},
                    Output{"Routed4Jumbo", Way::routed, 4, 9000, 1500},
                    Output{"Upstream4", Way::upstream4, 4, 1500, 1280},
                    Output{"Upstream6", Way::upstream6, 6, 1500, 1280},
                    Output{"Upstream6From4SameMtu", Way::upstream6, 4, 1500, 1500},
                    Output{"Upstream4From6", Way::upstream4, 6, 1500, 1280},
                    Output{"Upstream6From4Generic", Way::upstream6, 4, 1500, 1500, true}),
    [](const auto &info) { return std::string(info.param.name); });

/// The MTU shrinks while updates wait: the device itself checks nothing of what a drain sends.
class OutputMtuShrinks : public testing::TestWithParam<Way> {};

TEST_P(OutputMtuShrinks, WhatNoLongerFitsIsCountedAndNotSent) {
    Testbed bed{{.way = GetParam()}};
    const UdpSocket worker(bed.worker, Testbed::worker_peer(4));
    const UdpSocket server(bed.server(), Testbed::server_peer(4));
    bed.attach(slow_link);
    occupy(bed, worker, server);
    worker.send(Update{.cluster = 1, .lanes = std::vector<std::uint64_t>(170, 7)}, bed.target(4));
    worker.send(Update{.cluster = 2, .lanes = {7}}, bed.target(4));
    bed.olaf.await([](const Status &s) { return s["updates_waiting"] == 2; });
    bed.host.ip("link set out mtu 1280\n");
    bed.olaf.await([](const Status &s) { return s["updates_waiting"] == 0; });
    EXPECT_EQ(server.receive().update().cluster, 2u);
    const auto status = bed.olaf.await_drained(4);
    EXPECT_EQ(status.json.at("departures_failed").at("unfit"), 1);
    EXPECT_EQ(status["updates_dropped"], 1u);
    EXPECT_EQ(status["updates_out"], 3u);
    expect_identities(status);
}

TEST_P(OutputMtuShrinks, WhatRidesAndNoLongerFitsIsCountedAsLostBehind) {
    Testbed bed{{.way = GetParam()}};
    const UdpSocket worker(bed.worker, Testbed::worker_peer(4));
    const UdpSocket server(bed.server(), Testbed::server_peer(4));
    bed.attach({"--rate", "2mbit"});
    bed.host.ip("link set out mtu 1280\n");
    const std::vector<std::uint64_t> large(170, 7);
    std::uint32_t sent = 0;
    while (sent < 5000 && bed.olaf.status()["departed_riding"] == 0)
        for (int i = 0; i < 50; i++)
            worker.send(Update{.cluster = sent++ % 50, .lanes = large}, bed.target(4));
    EXPECT_GE(bed.olaf.await_drained(sent)["departed_riding"], 1u);
    worker.send(Update{.cluster = 99, .lanes = {7}}, bed.target(4));
    EXPECT_EQ(server.receive().update().cluster, 99u);
    const auto status = bed.olaf.await_drained(sent + 1);
    std::uint64_t lost = 0;
    for (const auto &[place, updates] : status.json.at("lost_behind_updates").items())
        lost += updates.get<std::uint64_t>();
    EXPECT_EQ(status["updates_out"], lost + 1) << status.json;
    EXPECT_GT(lost, 0u);
    expect_identities(status);
}

INSTANTIATE_TEST_SUITE_P(All, OutputMtuShrinks, testing::Values(Way::bridged, Way::routed),
                         [](const auto &info) {
                             return info.param == Way::bridged ? "Bridged" : "Routed";
                         });

class OutputMtuNotes : public testing::Test {
  protected:
    Testbed bed{{.way = Way::bridged, .out_mtu = 1280}};
    std::string said(const std::vector<std::string> &arguments) {
        const auto outcome = bed.olaf(arguments);
        EXPECT_EQ(outcome.status, 0) << outcome.err;
        return outcome.err;
    }
    static bool has(const std::string &text, const std::string &part) {
        return text.find(part) != text.npos;
    }
};

TEST_F(OutputMtuNotes, AttachSaysWhatFitsWhereThatIsLess) {
    const auto text = said({"attach", "in", "--forward", "out"});
    EXPECT_TRUE(has(text, "updates of at most 150 lanes fit out (out has MTU 1280)")) << text;
    auto limits = bed.olaf.status().json.at("limits");
    EXPECT_EQ(limits.at("max_lanes"), 160); // rounded up
    EXPECT_EQ(limits.at("egress_mtu"), 1280);

    bed.host.ip("link set out mtu 1400\n");
    const auto advice = bed.olaf({"doctor", "in"}).out;
    EXPECT_TRUE(has(advice, "1400 of out is not the 1280 that the queue keeps to")) << advice;
    bed.olaf.replace();
    EXPECT_EQ(bed.olaf.status().json.at("limits").at("egress_mtu"), 1400);
    EXPECT_FALSE(has(bed.olaf({"doctor", "in"}).out, "keeps to"));
    said({"detach", "in"});
}

TEST_F(OutputMtuNotes, AnExplicitMaxLanesThatDoesNotFitIsSaid) {
    const auto text = said({"attach", "in", "--forward", "out", "--max-lanes", "170"});
    EXPECT_TRUE(has(text, "at most 150 lanes fit out")) << text;
    EXPECT_TRUE(has(text, "whatever --max-lanes says")) << text;
    said({"detach", "in"});
    EXPECT_FALSE(has(said({"attach", "in", "--forward", "out", "--max-lanes", "100"}), "fit out"));
    said({"detach", "in"});
}

TEST_F(OutputMtuNotes, AnMtuThatCarriesNothingIsRefused) {
    bed.host.ip("link set out mtu 80\n");
    const auto outcome = bed.olaf({"attach", "in", "--forward", "out"});
    EXPECT_EQ(outcome.status, 1);
    EXPECT_TRUE(has(outcome.err, "its MTU, 80, carries none")) << outcome.err;
}

} // namespace
} // namespace olaf::test::output_mtu_test
