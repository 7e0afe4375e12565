// SPDX-License-Identifier: BSD-2-Clause
// A parameter server behind another device than the node's workers. It is a process, whose socket may
// leave checksums to its device: what the node makes of such frames must be right, too.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include <olaf/round_server.hpp>

#include "rounds.hpp"

namespace olaf::test::rounds_two_armed_server_test {
namespace {

constexpr unsigned workers = 3, rounds = 5, lanes = 64;
constexpr std::size_t elements = 126 * 4;
constexpr std::uint16_t port = 7000;

struct Setting {
    const char *name;
    int family;
    bool checksum_left_to_device;
};

/// Its rule adds each sum to the weights, which are 1 at first.
Result<RoundServer> serve_in(const Netns &netns, const Address &address) {
    const Inside inside(netns);
    return RoundServer::make({.bind = address,
                              .job = rounds_job,
                              .children = 1,
                              .workers = workers,
                              .lanes = lanes},
                             std::vector<float>(elements, 1.0F),
                             [](const RoundSum &sum, std::span<float> weights) {
                                 for (std::size_t i = 0; i < weights.size(); i++)
                                     weights[i] += sum.sum[i];
                             });
}

class RoundsTwoArmedServer : public testing::TestWithParam<Setting> {};

TEST_P(RoundsTwoArmedServer, GivesEveryWorkerTheExactWeights) {
    const auto [name, family, left_to_device] = GetParam();
    Testbed bed{{.way = Way::upstream4, .place = Place::kernel}};
    set_offloads(bed.server(), "eth0", {.tx_checksum = left_to_device});
    const auto address = Testbed::server_peer(family).address;
    auto parent = serve_in(bed.server(), Address::resolve(address, port).value());
    ASSERT_TRUE(parent) << parent.error().message();
    bed.olaf.attach({"--local", "--round-slots", "64"});
    const auto to = family == 4 ? address : "[" + address + "]";
    set_job(bed, workers, lanes,
            {"--parent", to + ":" + std::to_string(port), "--rank", "0", "--max-count",
             std::to_string(workers)});
    std::jthread serving([&](const std::stop_token &stop) { (void)parent->serve(stop); });
    run_workers(
        bed.worker, workers,
        [&, family = family](CollectiveOptions &options, unsigned rank) {
            options.node = Address::resolve(bed.target(family).address).value();
            options.rank = rank;
            options.lanes = lanes;
        },
        [&](Collective &collective, unsigned rank) {
            for (unsigned round = 0; round < rounds; round++) {
                std::vector<float> vector(elements, static_cast<float>(rank));
                const auto report = collective.allreduce(std::span(vector));
                ASSERT_TRUE(report) << report.error().message();
                // Ranks 0, 1 and 2 add up to 3 in each round.
                ASSERT_EQ(vector, std::vector<float>(elements, 1.0F + 3.0F * (round + 1)));
            }
        });
    serving.request_stop();
    serving.join();
    expect_jobs_add_up(bed.olaf);
    const auto job = job_status(bed);
    EXPECT_GT(job["up"]["sent"], 0);
    EXPECT_EQ(job["parent"]["device"], "out");
}

INSTANTIATE_TEST_SUITE_P(Of, RoundsTwoArmedServer,
                         testing::Values(Setting{"Ipv4", 4, false}, Setting{"Ipv6", 6, false},
                                         Setting{"Ipv4WithChecksumsLeftToItsDevice", 4, true},
                                         Setting{"Ipv6WithChecksumsLeftToItsDevice", 6, true}),
                         [](const auto &info) { return info.param.name; });

} // namespace
} // namespace olaf::test::rounds_two_armed_server_test
