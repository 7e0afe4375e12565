// SPDX-License-Identifier: BSD-2-Clause
// Whatever process is killed, and wherever it stands: the queue loses nothing and works on.
#include <bpf/bpf.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <random>

#include "killed_at.hpp"
#include "loader/host/clock.hpp"
#include "olaf/queue.h"
#include "rounds.hpp"
#include "traces.hpp"
#include "traffic.hpp"

namespace olaf::test::kill_test {
namespace {

// kill -9 of whatever process there is, at any moment: the queue loses nothing and works on.

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
    SocketBed bed{{.way = Way::bridged, .queues = 2}};
    const auto before = traces(bed.host);
    bed.attach({"--rate", "20mbit"});
    Collector collector(bed.to);
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
    bed.send(Update{.cluster = 900});
    EXPECT_TRUE(collector.await(out + 1).clusters.contains(900));
    expect_identities(await_quiet(bed));
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

// ---- kill midway ----
// Each command that writes, killed at each step of what it does: the queue works as before, or the
// next command has a clear way. Each kill provably lands midway (killed_at.hpp).

/// Steps of one command are shared out among so many tests, to keep each short.
constexpr unsigned shares = 2;

struct Case {
    const char *name;
    std::vector<std::string> command;
    bool attached; ///< a queue is there before
};

class KillMidway : public testing::TestWithParam<std::tuple<Case, unsigned>> {
  protected:
    const Case &subject() { return std::get<0>(GetParam()); }
    KillMidway() {
        bed.server().ip("address add 10.0.1.3/24 dev eth0\n"); // the other server, at one socket
        bed.host.ip("neighbour add 10.0.1.3 lladdr " + text(server_mac) +
                    " dev out nud permanent\n");
    }
    bool there() { return bed.olaf({"status", "in"}).status == 0; }

    /// An order to drain or to hold ends by itself, soon.
    void expect_leases() {
        const int fd = bpf_obj_get((pin_directory(bed.host, "in") + "/olaf_control").c_str());
        ASSERT_GE(fd, 0);
        const std::uint32_t key = 0;
        olaf_control control{};
        EXPECT_EQ(bpf_map_lookup_elem(fd, &key, &control), 0);
        close(fd);
        const std::uint64_t second = 1'000'000'000, now_ns = monotonic_ns();
        EXPECT_LE(control.emptying_until_ns, now_ns + second);
        EXPECT_LE(control.held_until_ns, now_ns + 5 * second);
    }

    /// Whatever the kill left: the queue, if it lives, is not being emptied for good, and takes and
    /// delivers an update.
    void expect_works() {
        expect_leases();
        const auto received = bed.olaf.status()["received"];
        worker.send(Update{.cluster = 3}, bed.target(4));
        EXPECT_EQ(server.receive().update().cluster, 3u);
        expect_identities(bed.olaf.await_drained(received + 1));
    }

    Testbed bed{{.way = Way::upstream4}};
    UdpSocket worker{bed.worker, Testbed::worker_peer(4)};
    UdpSocket server{bed.server(), {.address = "0.0.0.0"}};
};

TEST_P(KillMidway, TheQueueWorksOrTheNextCommandClearsIt) {
    const auto before = traces(bed.host);
    unsigned kills = 0;
    for (unsigned step = 1 + std::get<1>(GetParam());; step += shares) {
        if (subject().attached && !there())
            bed.attach();
        if (!killed_at(bed.olaf.command(subject().command), step))
            break;
        kills++;
        if (there())
            expect_works();
        if (HasFailure()) {
            ADD_FAILURE() << "killed at step " << step;
            break;
        }
        // Half there or whole, the next command takes all of it away.
        if (!subject().attached || !there()) {
            const auto told = bed.olaf({"detach", "in", "--force"});
            ASSERT_EQ(traces(bed.host), before) << "killed at step " << step << ": " << told.err;
        }
    }
    EXPECT_GT(kills, 0u);
    if (there()) {
        bed.olaf.await([](const Status &s) { return s.json["emptying"] == false; });
        expect_works();
    }
    RecordProperty("kills", static_cast<int>(kills));
    bed.olaf({"detach", "in", "--force"});
    EXPECT_EQ(traces(bed.host), before);
}

INSTANTIATE_TEST_SUITE_P(
    All, KillMidway,
    testing::Combine(
        testing::Values(
            Case{"Attach", {"attach", "in", "--upstream", "10.0.1.2"}, false},
            Case{"Replace", {"attach", "in", "--replace", "--rate", "9mbit"}, true},
            Case{"ReplaceWay", {"attach", "in", "--replace", "--upstream", "10.0.1.3",
                                "--allow", "10.0.0.0/8"}, true},
            Case{"Detach", {"detach", "in"}, true},
            Case{"DetachForce", {"detach", "in", "--force"}, true},
            Case{"ClusterSet", {"cluster", "set", "in", "0-9", "--policy", "newest", "--worker",
                                "1=10.0.0.1:7000"}, true},
            Case{"ClusterRemove", {"cluster", "remove", "in", "0-9"}, true}),
        testing::Range(0u, shares)),
    [](const auto &info) {
        return std::get<0>(info.param).name + std::to_string(std::get<1>(info.param));
    });

// ---- job kill midway ----
// Each `olaf job` command that writes, killed at each step of what it does: the job sums as before, or
// the next command takes away what is there and sets it anew. The job's parent is behind another device,
// so a filter comes and goes there too. Each kill provably lands midway (killed_at.hpp).

struct JobCase {
    const char *name;
    bool is_set;     ///< the job is there before
    bool sums_after; ///< whatever the kill left, resumed
    std::vector<std::string> more = {};
};

class JobKillMidway : public testing::TestWithParam<JobCase> {
  protected:
    [[nodiscard]] std::vector<std::string> command() const {
        const std::string word = GetParam().name;
        if (word == "set")
            return node.set_command();
        return joined({"job", word, "in", std::to_string(rounds_job)}, GetParam().more);
    }
    [[nodiscard]] std::size_t jobs() const { return node.olaf.status().json.at("jobs").size(); }
    Outcome job(const char *word) const {
        return node.olaf({"job", word, "in", std::to_string(rounds_job)});
    }
    /// Takes away what is there, if anything is.
    void remove() const {
        const auto told = job("remove");
        EXPECT_EQ(jobs(), 0u) << told.err;
        EXPECT_TRUE(traces(node.host) == without) << "something is left behind; " << told.err;
    }

    NodeBelowRoot node;
    std::string without; ///< traces of a queue without jobs
};

TEST_P(JobKillMidway, TheJobSumsOrTheNextCommandsSetItAnew) {
    node.attach_queue();
    without = traces(node.host);
    unsigned step = 0;
    do {
        if (GetParam().is_set && jobs() == 0)
            node.set();
        if (!killed_at(node.olaf.command(command()), ++step))
            break;
        SCOPED_TRACE("killed at step " + std::to_string(step));
        EXPECT_LE(jobs(), 1u);
        if (GetParam().sums_after) {
            const auto resumed = job("resume");
            EXPECT_EQ(resumed.status, 0) << resumed.err;
            node.sum_exactly(1, elements_of(20));
        } else {
            remove();
            node.set();
            node.sum_exactly(1, elements_of(20));
            remove();
        }
    } while (!HasFailure());
    EXPECT_GT(step, 2u) << "it was never killed midway";
    RecordProperty("kills", static_cast<int>(step - 1));
}

INSTANTIATE_TEST_SUITE_P(Of, JobKillMidway,
                         testing::Values(JobCase{"set", false, false}, JobCase{"remove", true, false},
                                         JobCase{"leave", true, false, {"3"}},
                                         JobCase{"reset", true, true}, JobCase{"halt", true, true},
                                         JobCase{"resume", true, true}, JobCase{"flush", true, true}),
                         by_name);

} // namespace
} // namespace olaf::test::kill_test
