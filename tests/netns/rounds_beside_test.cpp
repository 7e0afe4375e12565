// SPDX-License-Identifier: BSD-2-Clause
// A job beside asynchronous clusters on one device, both at full load, while programs are replaced:
// every sum of either is exact.
#include <gtest/gtest.h>

#include <atomic>

#include "rounds.hpp"
#include "traffic.hpp"

namespace olaf::test::rounds_beside_test {
namespace {

constexpr unsigned workers = 4, lanes = 64, rounds = 40, chunks = 20;
constexpr std::size_t elements = std::size_t{63} * chunks;

struct Setting {
    const char *name;
    std::vector<std::string> fanout;
    bool replaces;
};

class RoundsBesideClusters : public testing::TestWithParam<Setting> {
  protected:
    Testbed bed{{.way = Way::local, .queues = 2}};
    UdpSocket server{bed.server(), Testbed::server_peer(4)};

    void start() {
        make_lossless(bed);
        bed.attach({"--policy", "aggregate", "--rate", "10mbit", "--round-slots", "64"});
        bed.olaf.cluster({"set", "0-4", "--max-count", "65535"});
        std::vector<std::string> words{"--format", "i64x1"};
        words.insert(words.end(), GetParam().fanout.begin(), GetParam().fanout.end());
        set_job(bed, workers, lanes, words);
    }

    /// All workers sum; programs are replaced after a quarter of the rounds, and after half.
    void sum() {
        for_each_worker(
            bed, workers,
            [&](Collective &collective, unsigned rank) {
                for (unsigned round = 0; round < rounds; round++) {
                    if (rank == 0 && GetParam().replaces && (round == rounds / 4 || round == rounds / 2))
                        bed.olaf.replace({"--rate", round == rounds / 4 ? "20mbit" : "10mbit"});
                    auto vector = part_of(rank, round, elements);
                    const auto report = collective.allreduce(std::span(vector));
                    ASSERT_TRUE(report) << report.error().message();
                    ASSERT_EQ(vector, sum_of(workers, round, elements)) << "round " << round;
                }
            },
            [](CollectiveOptions &options) {
                options.format = Format::i64x1;
                options.lanes = lanes;
                if (!GetParam().fanout.empty())
                    options.group = Address::resolve("239.1.2.3").value();
            });
    }
};

TEST_P(RoundsBesideClusters, BothAreExactAtFullLoad) {
    start();
    const auto updates = random_updates(256, 5, 8, 31);
    const auto frames = frames_of(bed, updates);
    Collector collector(server);
    std::atomic<std::uint64_t> times = 0;
    {
        const std::jthread flooding([&](const std::stop_token &stop) {
            while (!stop.stop_requested()) {
                flood(bed, frames, 8);
                times += std::uint64_t{8} * cpus();
            }
        });
        sum();
    }
    Tally sent;
    for (const auto &update : updates)
        sent.add(update, times);
    const auto status = bed.olaf.await_drained(sent.updates);
    EXPECT_EQ(status["received"], sent.updates);
    EXPECT_EQ(status.dropped(), 0u);
    EXPECT_EQ(status.failed(), 0u);
    expect_identities(status);
    EXPECT_EQ(collector.await(sent.updates).clusters, sent.clusters);
    const auto job = job_status(bed);
    expect_job_identities(job);
    EXPECT_EQ(job["chunks"]["completed"], rounds * chunks);
    EXPECT_EQ(job["results"]["multicast"], GetParam().fanout.empty() ? 0 : rounds * chunks);
}

const std::vector<std::string> by_multicast = {"--fanout", "multicast=239.1.2.3"};

INSTANTIATE_TEST_SUITE_P(Of, RoundsBesideClusters,
                         testing::Values(Setting{"Riding", {}, false},
                                         Setting{"RidingWhileProgramsAreReplaced", {}, true},
                                         Setting{"ByMulticastWhileProgramsAreReplaced", by_multicast, true}),
                         [](const auto &info) { return info.param.name; });

} // namespace
} // namespace olaf::test::rounds_beside_test
