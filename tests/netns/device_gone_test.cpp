// SPDX-License-Identifier: BSD-2-Clause
// A device of a running queue that is deleted, renamed or moved to another network namespace: what
// waits still leaves where it can, else it is told of, and nothing is left behind.
#include <gtest/gtest.h>

#include "traffic.hpp"

namespace olaf::test::device_gone_test {
namespace {

constexpr std::uint32_t sent_before = 4;

struct GoneBed : Testbed {
    explicit GoneBed(Way way) : Testbed({.way = way}) {}

    /// Four large updates of four clusters on a slow link: the last of them wait.
    void fill(const UdpSocket &worker) {
        attach({"--rate", "20kbit"});
        for (std::uint32_t cluster = 0; cluster < sent_before; cluster++)
            worker.send(Update{.cluster = cluster, .lanes = std::vector<std::uint64_t>(128, 1)},
                        target(4));
        olaf.await([](const Status &s) { return s["received"] == sent_before; });
    }
};

struct Case {
    const char *name;
    bool moved; ///< to another namespace; else deleted
    const char *reason;
};

std::string name_of(const testing::TestParamInfo<Case> &info) { return info.param.name; }

class DeviceGone : public testing::TestWithParam<Case> {
  protected:
    static void take_away(const Netns &host, const char *device, const Netns &other) {
        host.ip(std::string("link ") +
                (GetParam().moved ? std::string("set ") + device + " netns " + other.name()
                                  : std::string("delete ") + device) +
                "\n");
    }
    static void expect_told(const Outcome &told) {
        EXPECT_NE(told.err.find(GetParam().reason), told.err.npos) << told.err;
    }

    Netns other{"other"};
};

TEST_P(DeviceGone, WhatWaitsForAnotherDeviceLeavesAllTheSame) {
    GoneBed bed(Way::routed);
    const UdpSocket worker(bed.worker, Testbed::worker_peer(4));
    const UdpSocket server(bed.server(), Testbed::server_peer(4));
    bed.fill(worker);
    take_away(bed.host, "in", other);
    const auto told = bed.olaf({"status", "in"});
    EXPECT_EQ(told.status, 1);
    EXPECT_NE(told.out.find("received    4 messages"), told.out.npos) << told.out;
    expect_told(told);
    expect_told(bed.olaf({"cluster", "set", "in", "1", "--policy", "newest"}));
    EXPECT_EQ(bed.olaf({"detach", "in"}).status, 0);
    for (std::uint32_t cluster = 0; cluster < sent_before; cluster++)
        EXPECT_EQ(server.receive().update().cluster, cluster);
    EXPECT_EQ(bed.olaf({"--json", "status"}).out, "[]\n");
}

TEST_P(DeviceGone, WhatWaitsForThisHostIsToldOfAndDroppedByForce) {
    GoneBed bed(Way::local);
    const UdpSocket worker(bed.worker, Testbed::worker_peer(4));
    bed.fill(worker);
    take_away(bed.host, "in", other);
    auto told = bed.olaf({"detach", "in"});
    EXPECT_EQ(told.status, 1);
    expect_told(told);
    told = bed.olaf({"--json", "detach", "in", "--force"});
    EXPECT_EQ(told.status, 0);
    expect_told(told);
    EXPECT_GT(nlohmann::json::parse(told.out)["updates_dropped"], 0);
    EXPECT_EQ(bed.olaf({"--json", "status"}).out, "[]\n");
}

TEST_P(DeviceGone, UpdatesWaitAndFoldWhereItWasTheOutput) {
    GoneBed bed(Way::upstream4);
    const UdpSocket worker(bed.worker, Testbed::worker_peer(4));
    bed.fill(worker);
    take_away(bed.host, "out", other);
    for (std::uint32_t i = 0; i < 40; i++)
        worker.send(Update{.cluster = 10, .worker = i}, bed.target(4));
    auto status =
        bed.olaf.await([](const Status &s) { return s["received"] == sent_before + 40; });
    EXPECT_GE(status["updates_waiting"], 40u);
    expect_identities(status);
    auto told = bed.olaf({"status", "in"});
    EXPECT_NE(told.out.find("the output device has gone"), told.out.npos) << told.out;
    told = bed.olaf({"doctor", "in"});
    EXPECT_EQ(told.status, 1);
    EXPECT_NE(told.out.find("the device that departures leave by has gone"), told.out.npos);
    told = bed.olaf({"detach", "in"});
    EXPECT_EQ(told.status, 1);
    EXPECT_NE(told.err.find("the output device has gone"), told.err.npos) << told.err;
    EXPECT_EQ(bed.olaf({"detach", "in", "--force"}).status, 0);
}

INSTANTIATE_TEST_SUITE_P(All, DeviceGone,
                         testing::Values(Case{"Deleted", false, "its device has gone"},
                                         Case{"Moved", true,
                                              "its device has moved to another network namespace"}),
                         name_of);

TEST(OutputAway, WhatWaitsLeavesWhenItIsBackAndAReplacementTurnsAcksRoundAgain) {
    GoneBed bed(Way::upstream4);
    const Netns other("other");
    const UdpSocket worker(bed.worker, Testbed::worker_peer(4));
    const UdpSocket server(bed.server(), Testbed::server_peer(4));
    const auto filters = [&] {
        return run({"tc", "-n", bed.host.name(), "filter", "show", "dev", "out", "ingress"}).out;
    };
    bed.attach();
    bed.host.ip("link set out netns " + other.name() + "\n");
    for (std::uint32_t cluster = 0; cluster < 8; cluster++)
        worker.send(Update{.cluster = cluster}, bed.target(4));
    const auto away = bed.olaf.await([](const Status &s) { return s["received"] == 8; });
    other.ip("link set out netns " + bed.host.name() + "\n");
    bed.host.ip("link set out up\naddress add 10.0.1.254/24 dev out\nneighbour replace 10.0.1.2 "
                "lladdr " + text(server_mac) + " dev out nud permanent\n");
    for (auto left = away["updates_waiting"]; left > 0; left--)
        EXPECT_EQ(server.receive().update().cluster, 8 - left);
    EXPECT_EQ(filters().find("olaf_ack_return"), std::string::npos);
    bed.olaf.replace();
    EXPECT_NE(filters().find("olaf_ack_return"), std::string::npos);
    bed.olaf.detach();
    EXPECT_EQ(filters(), "");
}

TEST(OutputRenamed, NothingChanges) {
    GoneBed bed(Way::routed);
    const UdpSocket worker(bed.worker, Testbed::worker_peer(4));
    const UdpSocket server(bed.server(), Testbed::server_peer(4));
    bed.fill(worker);
    bed.host.ip("link set out name renamed\n");
    for (std::uint32_t cluster = 0; cluster < sent_before; cluster++)
        EXPECT_EQ(server.receive().update().cluster, cluster);
    bed.olaf.replace({"--rate", "1mbit"});
    worker.send(Update{.cluster = 9}, bed.target(4));
    EXPECT_EQ(server.receive().update().cluster, 9u);
    bed.olaf.detach();
}

} // namespace
} // namespace olaf::test::device_gone_test
