// SPDX-License-Identifier: BSD-2-Clause
// Quiet: attached and idle, nothing of ours runs: no token, no timer, no tick.
#include <gtest/gtest.h>

#include <barrier>

#include "rounds.hpp"
#include "traces.hpp"
#include "traffic.hpp"

namespace olaf::test::idle_test {
namespace {

/// No chatter of IPv6 on the links, so that any run of a program is its own doing.
void silence(const Testbed &bed) {
    bed.host.sysctl("ipv6/conf/in/disable_ipv6", "1");
    bed.worker.sysctl("ipv6/conf/eth0/disable_ipv6", "1");
}

/// That nothing happens can only be seen by waiting.
constexpr auto a_while = std::chrono::milliseconds(400);

TEST(Idle, CostsNothing) {
    Testbed bed;
    silence(bed);
    const UdpSocket worker(bed.worker, Testbed::worker_peer(4));
    const UdpSocket server(bed.server(), Testbed::server_peer(4));
    const CountRuns counting;
    bed.attach({"--rate", "1mbit"});
    const auto objects = kernel_objects(bed.host);
    ASSERT_EQ(objects.programs.size(), 5u); // entrance, egress, the three of the drain

    const auto expect_still = [&] {
        const auto before = bed.olaf.status();
        const auto runs = run_count(objects);
        std::this_thread::sleep_for(a_while);
        const auto after = bed.olaf.status();
        EXPECT_EQ(run_count(objects), runs);
        EXPECT_EQ(after.json["drain"], before.json["drain"]);
        EXPECT_EQ(after.json["counters"], before.json["counters"]);
        EXPECT_FALSE(after.token_alive());
    };
    expect_still();
    EXPECT_EQ(bed.olaf.status().drain("launched"), 0u);

    // Traffic that queues: ticks, until the queue is empty.
    for (std::uint32_t i = 0; i < 40; i++)
        worker.send(
            Update{.cluster = i % 8, .worker = i, .lanes = std::vector<std::uint64_t>(64, 1)},
            bed.target(4));
    const auto status = bed.olaf.await_drained(40);
    expect_identities(status);
    EXPECT_GE(status.drain("launched"), 1u);
    EXPECT_GT(status.drain("ticks"), 0u);
    EXPECT_GT(run_count(objects), 0u);
    expect_still();
}

/// A job's figures, but for how long its members have been silent.
nlohmann::json figures_of_job(const Testbed &bed) {
    auto job = job_status(bed);
    for (auto &member : job.at("members"))
        member.erase("silent_ns");
    return job;
}

TEST(Idle, AJobCostsNothing) {
    Testbed bed;
    silence(bed);
    const CountRuns counting;
    bed.attach({"--round-slots", "64"});
    set_job(bed, 2, 16, {"--format", "i64x1"});
    const auto objects = kernel_objects(bed.host);
    ASSERT_GE(objects.programs.size(), 5u);

    const auto expect_still = [&] {
        const auto before = figures_of_job(bed);
        const auto runs = run_count(objects);
        std::this_thread::sleep_for(a_while);
        const auto after = bed.olaf.status();
        EXPECT_EQ(run_count(objects), runs);
        EXPECT_EQ(figures_of_job(bed), before);
        EXPECT_FALSE(after.token_alive());
        EXPECT_EQ(after.drain("launched"), 0u);
    };
    expect_still(); // without members

    std::barrier both(2);
    for_each_worker(
        bed, 2,
        [&](Collective &collective, unsigned rank) {
            auto vector = part_of(rank, 0, 1000);
            EXPECT_TRUE(collective.allreduce(std::span(vector)));
            both.arrive_and_wait();
            if (rank == 0)
                expect_still(); // with members that compute
            both.arrive_and_wait();
        },
        [](CollectiveOptions &options) { options.format = Format::i64x1; });
    EXPECT_GT(run_count(objects), 0u);
    EXPECT_GT(job_status(bed).at("chunks").at("completed"), 0u);
    expect_still(); // whose members have gone
}

TEST(Idle, APassingUpdateWakesNothing) {
    Testbed bed;
    silence(bed);
    const UdpSocket worker(bed.worker, Testbed::worker_peer(4));
    const UdpSocket server(bed.server(), Testbed::server_peer(4));
    bed.attach();
    for (std::uint32_t i = 0; i < 10; i++) {
        worker.send(Update{.cluster = i}, bed.target(4));
        EXPECT_EQ(server.receive().update().cluster, i);
    }
    const auto status = bed.olaf.status();
    EXPECT_EQ(status["passed_through"], 10u);
    EXPECT_EQ(status.drain("launched"), 0u);
    EXPECT_EQ(status.drain("ticks"), 0u);
}

} // namespace
} // namespace olaf::test::idle_test
