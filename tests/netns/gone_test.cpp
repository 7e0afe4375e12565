// SPDX-License-Identifier: BSD-2-Clause
// A queue whose network namespace or device goes, or gets another name.
#include <gtest/gtest.h>

#include <filesystem>

#include "killed_at.hpp"
#include "traces.hpp"
#include "traffic.hpp"

namespace olaf::test::gone_test {
namespace {

// A queue whose network namespace goes, or whose device gets another name.

TEST(Gone, WhatADeletedNamespaceLeavesIsClearedByAnyCommandThatWrites) {
    Testbed bed; // of a queue that lives: it isn't touched
    bed.attach();
    std::string pins;
    {
        const Netns other("gone"); // goes at the end of this scope, with the queue attached
        other.ip("link add name in type veth peer name peer\nlink set in up\nlink set peer up\n");
        must(run({OLAF_BINARY, "--netns", other.name(), "attach", "in", "--local"}));
        pins = pin_directory(other, "in");
        ASSERT_TRUE(std::filesystem::exists(pins));
    }
    std::string said;
    // The kernel takes a namespace down in its own time.
    await(
        [&] {
            said = bed.olaf({"cluster", "set", "in", "1", "--policy", "newest"}).err;
            return !std::filesystem::exists(pins);
        },
        [&] { return "the end of " + pins; });
    EXPECT_TRUE(says(said, "in: removed what was left of its queue, for its network namespace"));
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
    EXPECT_EQ(bed.olaf.status()["received"], 0u);
}

/// Attaches in a mount namespace that doesn't know the network namespaces of this test, to a device of
/// the workers' namespace. Every attach sweeps what it takes for left over.
Outcome attach_where_namespaces_are_hidden(const Testbed &bed) {
    return run({"unshare", "--mount", "sh", "-c",
                "mount -t tmpfs none /run/netns && exec " OLAF_BINARY " attach eth0 --local"},
               {}, &bed.worker);
}

TEST(Gone, AnAttachThatWasKilledIsNotSweptFromWhereItsNamespaceIsNotSeen) {
    Testbed bed;
    const auto pins = pin_directory(bed.host, "in");
    unsigned left = 0;
    // No process is in its namespace any more once it is killed.
    for (const unsigned step : {2u, 4u, 8u, 16u, 32u, 64u}) {
        ASSERT_TRUE(killed_at(bed.olaf.command({"attach", "in", "--local"}), step));
        const bool began = std::filesystem::exists(pins) && !std::filesystem::is_empty(pins);
        const auto there = began ? run({"ls", pins}).out : "";
        const auto other = attach_where_namespaces_are_hidden(bed);
        ASSERT_EQ(other.status, 0) << other.err;
        if (began) {
            EXPECT_EQ(run({"ls", pins}).out, there) << "killed at step " << step << ": " << other.err;
            left++;
        }
        EXPECT_EQ(run({OLAF_BINARY, "detach", "eth0"}, {}, &bed.worker).status, 0);
        bed.olaf({"detach", "in", "--force"});
    }
    EXPECT_GT(left, 3u);
}

TEST(Gone, ARenamedDeviceKeepsItsQueueByItsNewName) {
    SocketBed bed;
    const auto before = traces(bed.host);
    bed.attach(slow_link);
    bed.host.ip("link set in name renamed\n");
    occupy(bed);
    bed.send(Update{.cluster = 1});
    EXPECT_EQ(bed.receive().cluster, 1u);
    EXPECT_EQ(bed.olaf({"attach", "renamed", "--replace", "--rate", "1mbit"}).status, 0);
    EXPECT_EQ(bed.olaf({"status", "renamed"}).status, 0);
    EXPECT_EQ(bed.olaf({"detach", "renamed"}).status, 0);
    bed.host.ip("link set renamed name in\n");
    EXPECT_EQ(traces(bed.host), before);
}

// ---- device gone ----
// A device of a running queue that is deleted, renamed or moved to another network namespace: what
// waits still leaves where it can, else it is told of, and nothing is left behind.

constexpr std::uint32_t sent_before = 4;

struct GoneBed : SocketBed {
    explicit GoneBed(Way way) : SocketBed({.way = way}) {}

    /// Four large updates of four clusters on a slow link: the last of them wait.
    void fill(const char *rate = "20kbit") {
        attach({"--rate", rate});
        for (std::uint32_t cluster = 0; cluster < sent_before; cluster++)
            send(Update{.cluster = cluster, .lanes = std::vector<std::uint64_t>(128, 1)});
        olaf.await([](const Status &s) { return s["received"] == sent_before; });
    }
};

struct Case {
    const char *name;
    bool moved; ///< to another namespace; else deleted
    const char *reason;
};

class DeviceGone : public testing::TestWithParam<Case> {
  protected:
    static void take_away(const Testbed &bed, const std::string &device, const Netns &other) {
        if (GetParam().moved)
            bed.host.ip("link set " + device + " netns " + other.name() + "\n");
        else
            bed.unplug(device);
    }
    static void expect_told(const Outcome &told) { EXPECT_TRUE(says(told.err, GetParam().reason)); }

    Netns other{"other"};
};

TEST_P(DeviceGone, WhatWaitsForAnotherDeviceLeavesAllTheSame) {
    GoneBed bed(Way::routed);
    bed.fill();
    take_away(bed, "in", other);
    const auto told = bed.olaf({"status", "in"});
    EXPECT_EQ(told.status, 1);
    EXPECT_TRUE(says(told.out, "received    4 messages"));
    expect_told(told);
    expect_told(bed.olaf({"cluster", "set", "in", "1", "--policy", "newest"}));
    EXPECT_EQ(bed.olaf({"detach", "in"}).status, 0);
    for (std::uint32_t cluster = 0; cluster < sent_before; cluster++)
        EXPECT_EQ(bed.receive().cluster, cluster);
    EXPECT_EQ(bed.olaf({"--json", "status"}).out, "[]\n");
}

TEST_P(DeviceGone, WhatWaitsForThisHostIsToldOfAndDroppedByForce) {
    GoneBed bed(Way::local);
    bed.fill("1kbit"); // a NIC takes its time to go
    take_away(bed, "in", other);
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
    bed.fill();
    take_away(bed, "out", other);
    for (std::uint32_t i = 0; i < 40; i++)
        bed.send(Update{.cluster = 10, .worker = i});
    auto status =
        bed.olaf.await([](const Status &s) { return s["received"] == sent_before + 40; });
    EXPECT_GE(status["updates_waiting"], 40u);
    expect_identities(status);
    auto told = bed.olaf({"status", "in"});
    EXPECT_TRUE(says(told.out, "the output device has gone"));
    told = bed.olaf({"doctor", "in"});
    EXPECT_EQ(told.status, 1);
    EXPECT_TRUE(says(told.out, "the device that departures leave by has gone"));
    told = bed.olaf({"detach", "in"});
    EXPECT_TRUE(refused(told, "the output device has gone"));
    EXPECT_EQ(bed.olaf({"detach", "in", "--force"}).status, 0);
}

INSTANTIATE_TEST_SUITE_P(All, DeviceGone,
                         testing::Values(Case{"Deleted", false, "its device has gone"},
                                         Case{"Moved", true,
                                              "its device has moved to another network namespace"}),
                         by_name);

TEST(OutputAway, WhatWaitsLeavesWhenItIsBackAndAReplacementTurnsAcksRoundAgain) {
    GoneBed bed(Way::upstream4);
    const Netns other("other");
    const auto filters = [&] {
        return run({"tc", "-n", bed.host.name(), "filter", "show", "dev", "out", "ingress"}).out;
    };
    bed.attach();
    bed.host.ip("link set out netns " + other.name() + "\n");
    for (std::uint32_t cluster = 0; cluster < 8; cluster++)
        bed.send(Update{.cluster = cluster});
    const auto away = bed.olaf.await([](const Status &s) { return s["received"] == 8; });
    other.ip("link set out netns " + bed.host.name() + "\n");
    bed.host.ip("link set out up\naddress add 10.0.1.254/24 dev out\nneighbour replace 10.0.1.2 "
                "lladdr " + text(server_mac) + " dev out nud permanent\n");
    for (auto left = away["updates_waiting"]; left > 0; left--)
        EXPECT_EQ(bed.receive().cluster, 8 - left);
    EXPECT_FALSE(says(filters(), "olaf_ack_return"));
    bed.olaf.replace();
    EXPECT_TRUE(says(filters(), "olaf_ack_return"));
    bed.olaf.detach();
    EXPECT_EQ(filters(), "");
}

/// As after a card was unplugged and plugged in again.
class OutputAnew : public testing::TestWithParam<Way> {
  protected:
    void replug(std::uint32_t mtu) {
        bed.unplug("out");
        if (bed.wiring.place == Place::nics) {
            move_nic(2, bed.host, "out");
        } else {
            bed.host.ip("link add name out type veth peer name eth0 address " + text(server_mac) + " netns " +
                        bed.server().name() + "\n");
            set_offloads(bed.host, "out", {});
            set_offloads(bed.server(), "eth0", {});
        }
        bed.host.ip("link set out address " + text(out_mac) + " mtu " + std::to_string(mtu) +
                    "\nlink set out up\naddress add 10.0.1.254/24 dev out\nneighbour add 10.0.1.2 lladdr " +
                    text(server_mac) + " dev out nud permanent\n");
        bed.server().ip("link set eth0 up\naddress replace 10.0.1.2/24 dev eth0\nneighbour replace "
                        "10.0.1.254 lladdr " + text(out_mac) + " dev eth0 nud permanent\n"
                        "route replace default via 10.0.1.254\n");
    }
    GoneBed bed{GetParam()};
};

TEST_P(OutputAnew, WhatWaitsLeavesByItAfterAReplacement) {
    const auto qdiscs = [&] { return run({"tc", "qdisc", "show", "dev", "out"}, {}, &bed.host).out; };
    bed.fill();
    replug(1400);
    const auto before = qdiscs(); // the kernel's own depend on the MTU
    EXPECT_TRUE(refused(bed.olaf({"attach", "in", "--replace"}), "what waits was taken for an MTU of 1500"));
    bed.host.ip("link set out mtu 1500\n");
    const auto told = bed.olaf({"attach", "in", "--replace"});
    ASSERT_EQ(told.status, 0) << told.err;
    EXPECT_TRUE(says(told.err, "what waits leaves by out: the device that it was for has gone"));
    for (std::uint32_t cluster = 0; cluster < sent_before; cluster++)
        EXPECT_EQ(bed.receive().cluster, cluster);
    bed.send(Update{.cluster = 9});
    EXPECT_EQ(bed.receive().cluster, 9u);
    EXPECT_EQ(bed.olaf.await_drained(sent_before + 1).lost_behind(), 0u);
    bed.olaf.detach();
    EXPECT_EQ(bed.olaf({"--json", "status"}).out, "[]\n");
    EXPECT_EQ(qdiscs(), before);
}

INSTANTIATE_TEST_SUITE_P(All, OutputAnew, testing::Values(Way::routed, Way::upstream4), by_way);

TEST(OutputRenamed, NothingChanges) {
    GoneBed bed(Way::routed);
    bed.fill();
    bed.host.ip("link set out name renamed\n");
    for (std::uint32_t cluster = 0; cluster < sent_before; cluster++)
        EXPECT_EQ(bed.receive().cluster, cluster);
    bed.olaf.replace({"--rate", "1mbit"});
    bed.send(Update{.cluster = 9});
    EXPECT_EQ(bed.receive().cluster, 9u);
    bed.olaf.detach();
}

} // namespace
} // namespace olaf::test::gone_test
