// SPDX-License-Identifier: BSD-2-Clause
// What a person sees of a queue at a glance: what attach says of it, and what status shows of how
// it is attached, of its rates and of queues elsewhere.
#include <gtest/gtest.h>

#include <csignal>

#include "listening.hpp"
#include "loader/attachment/record.hpp"
#include "loader/host/netns.hpp"
#include "traces.hpp"

namespace olaf::test::glance_test {
namespace {

bool says(const std::string &text, const std::string &what) {
    return text.find(what) != text.npos;
}

TEST(DryRun, SaysWhatThereWouldBeAndChangesNothing) {
    Testbed bed{{.way = Way::upstream4}};
    const auto before = traces(bed.host);
    const auto text = bed.olaf({"attach", "in", "--upstream", "10.0.1.2", "--dry-run"});
    ASSERT_EQ(text.status, 0) << text.err;
    const auto drain = "olaf" + std::to_string(bed.host.ifindex("in"));
    for (const auto &what :
         {std::string("would be live"), std::string("olaf_ingress at XDP of in"),
          std::string("olaf_ack_return at TC ingress of out"), drain + "a and " + drain + "b",
          std::string("clsact on in, out, "), std::string("nothing was changed")})
        EXPECT_TRUE(says(text.out, what)) << what << "\n" << text.out;
    EXPECT_EQ(traces(bed.host), before);
    const auto json = bed.olaf({"--json", "attach", "in", "--upstream", "10.0.1.2", "--dry-run"});
    expect_schema("attach", json.out);
    EXPECT_EQ(traces(bed.host), before);

    // What it says is what attach then does.
    bed.attach();
    const auto status = bed.olaf.status().json;
    const auto would = nlohmann::json::parse(json.out);
    EXPECT_EQ(status["drain"]["device"], would["dry_run"]["devices"][0]);
    EXPECT_EQ(status["drain"]["peer"], would["dry_run"]["devices"][1]);
    EXPECT_EQ(status["clsact_added"], nlohmann::json({"in", "out"}));
    EXPECT_NEAR(status["memory_bytes"].get<double>(), would["memory_bytes"].get<double>(),
                0.02 * status["memory_bytes"].get<double>());
    const auto again = bed.olaf({"attach", "in", "--local", "--dry-run"});
    EXPECT_EQ(again.status, 1);
    EXPECT_TRUE(says(again.err, "a queue of olaf's is there")) << again.err;
}

TEST(DryRun, RefusesADeviceThatHasAnotherProgram) {
    Testbed bed;
    const ForeignXdp other(bed.host, "in");
    const auto told = bed.olaf({"attach", "in", "--local", "--dry-run"});
    EXPECT_EQ(told.status, 1);
    EXPECT_TRUE(says(told.err, "it has an XDP program already")) << told.err;
}

TEST(Attaching, SaysWhatFollowsFromWhatWasGiven) {
    Testbed bed{{.way = Way::bridged}};
    const auto said = [&](std::vector<std::string> options) {
        options.insert(options.begin(), {"attach", "in", "--dry-run"});
        const auto told = bed.olaf(std::move(options));
        EXPECT_EQ(told.status, 0) << told.err;
        return told.err;
    };
    const auto local = said({"--local"});
    EXPECT_TRUE(says(local, "nothing will ever wait")) << local;
    EXPECT_TRUE(says(local, "at most 178 lanes come in (in has MTU 1500)")) << local;
    for (const auto &options : {std::vector<std::string>{"--local", "--rate", "1mbit"},
                                std::vector<std::string>{"--local", "--window", "4"}})
        EXPECT_FALSE(says(said(options), "nothing will ever wait"));
    EXPECT_TRUE(says(said({"--local", "--max-lanes", "1024"}),
                     "1024 lanes take an MTU of 8268 (with IPv6 of 8288); in has 1500"));
    EXPECT_TRUE(says(said({"--local", "--strict"}), "olaf cluster set in ID --worker ID=ADDR"));
    EXPECT_FALSE(says(local, "is down") || says(local, "no carrier")) << local;
    bed.host.ip("link set out down\n");
    EXPECT_TRUE(
        says(said({"--forward", "out"}), "out is down: nothing leaves until ip link set out up"));
    bed.worker.ip("link set eth0 down\n");
    EXPECT_TRUE(says(said({"--local"}), "in has no carrier: nothing comes in"));
}

TEST(Status, ShowsSinceWhenWhoseUpdatesAndWhatThereIsBecauseOfTheQueue) {
    Testbed bed;
    bed.attach({"--strict", "--allow", "10.0.0.0/16", "--allow", "fd00::/32"});
    auto status = bed.olaf.status().json;
    EXPECT_LT(status["attached"]["for_ns"], 60'000'000'000);
    EXPECT_TRUE(status["attached"]["replaced_for_ns"].is_null());
    EXPECT_EQ(status["allowed"].size(), 2u);
    EXPECT_EQ(status["drain"]["qdisc"], "tbf");
    const auto told = bed.olaf({"status", "in"}).out;
    for (const auto &what :
         {"  since       20", "fd00::/32", "10.0.0.0/16", "registered workers only (--strict)",
          "the drain's veth pair, with qdisc tbf; qdisc clsact on in", "maps take"})
        EXPECT_TRUE(says(told, what)) << what << "\n" << told;
    bed.olaf.replace();
    status = bed.olaf.status().json;
    EXPECT_LE(status["attached"]["replaced_for_ns"], status["attached"]["for_ns"]);
}

TEST(Status, HasAgeOfModelInItsTableOfClusters) {
    Testbed bed{{.way = Way::bridged}};
    bed.attach();
    const UdpSocket worker(bed.worker, Testbed::worker_peer(4));
    worker.send(Update{.cluster = 3}, bed.target(4));
    bed.olaf.await_drained(1);
    const auto told = bed.olaf({"status", "in", "--clusters"}).out;
    EXPECT_TRUE(says(told, "AoM now  average     peak\n")) << told;
    EXPECT_TRUE(says(told, "\n       3          1          0")) << told;
}

TEST(Status, PrintsRatesSoManyTimesOrUntilInterrupted) {
    Testbed bed{{.way = Way::bridged}};
    bed.attach();
    const UdpSocket worker(bed.worker, Testbed::worker_peer(4));
    Process watching(bed.olaf.command({"status", "in", "--interval", "200ms", "--count", "2"}));
    for (std::uint32_t i = 0; watching.running(); i++) {
        worker.send(Update{.sequence = i}, bed.target(4));
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    const auto told = watching.wait();
    EXPECT_EQ(told.status, 0) << told.err;
    EXPECT_EQ(std::ranges::count(told.out, '\n'), 3) << told.out; // titles and two lines
    EXPECT_TRUE(says(told.out, "working: 1 cluster active")) << told.out;

    Process json(bed.olaf.command({"--json", "status", "in", "--interval", "100ms"}));
    json.await_output("\n{");
    json.kill(SIGINT);
    const auto lines = json.wait();
    EXPECT_EQ(lines.status, 0) << lines.err;
    expect_schema("live", lines.out);
}

TEST(Status, OfAllNetworkNamespacesFindsQueuesOfNamedOnesAndOfProcesses) {
    Testbed named{{.way = Way::bridged}};
    named.attach();
    const auto list = nlohmann::json::parse(named.olaf({"--json", "status", "--all"}).out);
    const auto in = [](const nlohmann::json &all, const std::string &netns) {
        return std::ranges::count_if(all,
                                     [&](const auto &queue) { return queue.at("netns") == netns; });
    };
    EXPECT_EQ(in(list, named.host.name()), 1) << list;
    EXPECT_EQ(in(list, named.worker.name()), 0) << list;
    const auto told = named.olaf({"status", "--all"}).out;
    EXPECT_TRUE(says(told, "network namespace " + named.host.name() + "\nin: idle")) << told;

    // One that has no name, only a process.
    Process nameless({"unshare", "--net", "sh", "-c",
                      "ip link add in type veth peer name far && ip link set in up && " OLAF_BINARY
                      " attach in --local && echo ready && exec sleep 600"});
    nameless.await_output("ready\n");
    const auto pid = std::to_string(nameless.pid());
    const auto all = nlohmann::json::parse(run({OLAF_BINARY, "--json", "status", "--all"}).out);
    EXPECT_EQ(in(all, "of process " + pid), 1) << all;
    EXPECT_EQ(in(all, named.host.name()), 1) << all;
    expect_schema("status", all.dump());
    EXPECT_EQ(
        run({"nsenter", "--net=/proc/" + pid + "/ns/net", OLAF_BINARY, "detach", "in"}).status, 0);
    nameless.kill();
}

TEST(Status, ReadsNoMapsOfAnotherLayoutAndShowsOtherQueuesAllTheSame) {
    Testbed ours;
    ours.attach();
    const Netns elsewhere("elsewhere");
    elsewhere.ip("link add in type veth peer name far\nlink set in up\n");
    OlafCommand other(elsewhere, "in");
    other.attach({"--local"});
    const auto write_layout = [&](std::uint32_t layout) {
        const Inside inside(elsewhere);
        const auto map =
            RecordMap::open({.netns = netns_inode().value(),
                             .ifindex = static_cast<std::uint32_t>(elsewhere.ifindex("in"))});
        auto record = map->read().value();
        record.layout = layout;
        ASSERT_TRUE(map->write(record));
    };
    write_layout(OLAF_LAYOUT + 1);
    const auto one = other({"status", "in"});
    EXPECT_EQ(one.status, 1);
    EXPECT_TRUE(says(one.err, "cannot read the queue on in: its maps have layout")) << one.err;
    const auto all = ours.olaf({"status", "--all"});
    EXPECT_EQ(all.status, 0) << all.err;
    EXPECT_TRUE(says(all.err, "network namespace " + elsewhere.name() + ": cannot read"))
        << all.err;
    EXPECT_TRUE(says(all.out, "network namespace " + ours.host.name() + "\nin: idle")) << all.out;
    write_layout(OLAF_LAYOUT);
}

} // namespace
} // namespace olaf::test::glance_test
