// SPDX-License-Identifier: BSD-2-Clause
// kill -9 of whatever process there is, at any moment: the queue loses nothing and works on.
#include <gtest/gtest.h>

#include <random>

#include "traces.hpp"
#include "traffic.hpp"

namespace olaf::test::kill_test {
namespace {

/// Waits until the worker's device and the queue are still.
Status await_quiet(const Testbed &bed) {
    std::uint64_t received = 0;
    bed.olaf.await([&](const Status &s) {
        const bool same = s["received"] == received;
        received = s["received"];
        return same && s["updates_waiting"] == 0 && !s.token_alive();
    });
    return bed.olaf.status(); // exact, where the one before may have been read halfway
}

TEST(Kill, EverythingDuringAFlood) {
    Testbed bed{{.way = Way::bridged, .queues = 2}};
    make_lossless(bed);
    const UdpSocket worker(bed.worker, Testbed::worker_peer(4));
    const UdpSocket server(bed.server(), Testbed::server_peer(4));
    const auto before = traces(bed.host);
    bed.attach({"--rate", "20mbit"});
    Collector collector(server);
    const auto frames = frames_of(bed, random_updates(256, 9, 8, 41));
    std::mt19937 random(42);
    const std::vector<std::vector<std::string>> commands = {
        {"status", "in"},
        {"cluster", "set", "in", "0-1023", "--policy", "aggregate"},
        {"attach", "in", "--replace", "--rate", "20mbit"},
        {"cluster", "set", "in", "0-1023", "--policy", "olaf"},
        {"attach", "in", "--replace", "--queue", "64"},
    };
    for (const auto &command : commands) {
        auto sender = endless_flood(bed, frames);
        Process olaf(bed.olaf.command(command));
        std::this_thread::sleep_for(std::chrono::milliseconds(random() % 60));
        olaf.kill();
        sender.kill();
        olaf.wait();
        EXPECT_EQ(sender.wait().status, 128 + 9);
        const auto status = await_quiet(bed);
        expect_identities(status);
        EXPECT_EQ(status.failed(), 0u);
        EXPECT_EQ(collector.await(status["updates_out"]).messages,
                  status["passed_through"] + status["departed"]);
    }
    EXPECT_GT(bed.olaf.status()["received"], 0u);

    // It works on: an update, a replacement that is let finish, and a way out.
    bed.olaf.replace();
    const auto out = bed.olaf.status()["updates_out"];
    worker.send(Update{.cluster = 900}, bed.target(4));
    EXPECT_TRUE(collector.await(out + 1).clusters.contains(900));
    expect_identities(await_quiet(bed));
    bed.olaf.detach();
    EXPECT_EQ(traces(bed.host), before);
}

TEST(Kill, AnAttachAtAnyMomentLeavesNothingThatStandsInTheWay) {
    Testbed bed{{.way = Way::bridged}};
    const auto before = traces(bed.host);
    auto attach = bed.olaf.command({"attach", "in", "--forward", "out"});
    for (const int milliseconds : {5, 20, 40, 60, 90, 130, 180}) {
        Process olaf(attach);
        std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
        olaf.kill();
        olaf.wait();
        // Whether it had finished or not, force takes it away.
        bed.olaf({"detach", "in", "--force"});
        EXPECT_EQ(traces(bed.host), before) << "killed after " << milliseconds << " ms";
        if (HasFailure())
            break;
    }
    bed.attach();
    bed.olaf.detach();
    EXPECT_EQ(traces(bed.host), before);
}

TEST(Kill, AReplacementThatMovesUpstreamLeavesNoFilterBehind) {
    Testbed bed{{.way = Way::upstream4}};
    const Netns other("other");
    bed.host.ip("link add out2 type veth peer name eth0 netns " + other.name() +
                "\naddr add 10.0.2.254/24 dev out2\nlink set out2 up"
                "\nneigh add 10.0.2.2 lladdr 02:00:00:00:02:02 dev out2 nud permanent");
    other.ip("link set eth0 up");
    run({"ethtool", "-K", "eth0", "gro", "on"}, {}, &other); // or veth takes no redirected frames
    const auto before = traces(bed.host);
    const auto there = [&] {
        return run({"tc", "-n", bed.host.name(), "filter", "show", "dev", "out2", "ingress"}).out;
    };
    for (const int milliseconds : {0, 2, 5, 10, 20, 40, 80}) {
        bed.attach();
        Process monitor({"tc", "-n", bed.host.name(), "monitor"});
        Process olaf(bed.olaf.command({"attach", "in", "--replace", "--upstream", "10.0.2.2"}));
        monitor.await_output("olaf_ack_return"); // on the way: the new filter is there
        std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
        olaf.kill();
        olaf.wait();
        EXPECT_NE(there(), "");
        // What comes next knows both devices, whichever it is.
        if (milliseconds % 4 == 0) {
            bed.olaf({"attach", "in", "--replace", "--upstream", "10.0.1.2"});
            EXPECT_EQ(there(), "") << "killed after " << milliseconds << " ms";
        }
        bed.olaf.detach();
        EXPECT_EQ(traces(bed.host), before) << "killed after " << milliseconds << " ms";
        if (HasFailure())
            break;
    }
}

TEST(Kill, ADetachThatIsKilledCanBeRepeated) {
    Testbed bed;
    const auto before = traces(bed.host);
    for (const int milliseconds : {3, 15, 30, 60}) {
        bed.attach();
        Process olaf(bed.olaf.command({"detach", "in"}));
        std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
        olaf.kill();
        if (olaf.wait().status != 0)
            bed.olaf({"detach", "in"});
        EXPECT_EQ(traces(bed.host), before) << "killed after " << milliseconds << " ms";
    }
}

} // namespace
} // namespace olaf::test::kill_test
