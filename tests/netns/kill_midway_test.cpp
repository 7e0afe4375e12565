// SPDX-License-Identifier: BSD-2-Clause
// Each command that writes, killed at each step of what it does: the queue works as before, or the
// next command has a clear way. Each kill provably lands midway (killed_at.hpp).
#include <bpf/bpf.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <ctime>

#include "killed_at.hpp"
#include "olaf/queue.h"
#include "traffic.hpp"

namespace olaf::test::kill_midway_test {
namespace {

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
        timespec now{};
        clock_gettime(CLOCK_MONOTONIC, &now);
        const auto second = 1'000'000'000ULL;
        const auto now_ns = static_cast<std::uint64_t>(now.tv_sec) * second + now.tv_nsec;
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

} // namespace
} // namespace olaf::test::kill_midway_test
