// SPDX-License-Identifier: BSD-2-Clause
// `olaf cluster set` on a running queue: each cluster follows its own rule from then on.
#include <gtest/gtest.h>

#include "traffic.hpp"

namespace olaf::test::cluster_test {
namespace {

class ClusterRules : public testing::Test {
  protected:
    ClusterRules() {
        auto options = slow_link;
        options.push_back("--fifo");
        bed.attach(options);
    }

    void send(Update update) { worker.send(update, bed.target(4)); }

    Testbed bed;
    UdpSocket worker{bed.worker, Testbed::worker_peer(4)};
    UdpSocket server{bed.server(), Testbed::server_peer(4)};
};

constexpr std::int64_t one = 1 << OLAF_REWARD_FRACTION_BITS;

TEST_F(ClusterRules, EachHasItsOwnPolicy) {
    bed.olaf.cluster({"set", "0", "--policy", "fifo"});
    bed.olaf.cluster({"set", "1", "--policy", "aggregate"});
    bed.olaf.cluster({"set", "2", "--policy", "newest"});
    occupy(bed, worker, server);
    const auto before = bed.olaf.status();
    // From one worker: `aggregate` sums, `newest` and `olaf` (cluster 3) keep the last.
    for (std::uint64_t i = 1; i <= 3; i++)
        for (std::uint32_t cluster = 0; cluster < 4; cluster++)
            send({.cluster = cluster, .sequence = static_cast<std::uint32_t>(i), .lanes = {i}});
    std::map<std::uint32_t, std::vector<std::uint64_t>> lanes;
    for (int i = 0; i < 6; i++) {
        const auto update = server.receive().update();
        lanes[update.cluster].push_back(update.lanes[0]);
    }
    EXPECT_EQ(lanes[0], (std::vector<std::uint64_t>{1, 2, 3}));
    EXPECT_EQ(lanes[1], (std::vector<std::uint64_t>{6}));
    EXPECT_EQ(lanes[2], (std::vector<std::uint64_t>{3}));
    EXPECT_EQ(lanes[3], (std::vector<std::uint64_t>{3}));
    const auto status = bed.olaf.await_drained(14);
    EXPECT_EQ(status["appended"] - before["appended"], 6u);
    EXPECT_EQ(status["aggregated"], 2u);
    EXPECT_EQ(status["replaced"], 4u);
    expect_identities(status);
}

TEST_F(ClusterRules, ARewardThresholdFilters) {
    bed.olaf.cluster({"set", "0-3", "--reward-threshold", "1.5"});
    occupy(bed, worker, server);
    const auto offer = [&](std::uint32_t cluster, std::int64_t reward, std::uint64_t lane) {
        send({.cluster = cluster,
              .worker = static_cast<std::uint32_t>(lane),
              .reward = reward,
              .lanes = {lane}});
    };
    offer(0, 10 * one, 1);
    offer(0, 11 * one, 2); // within: folded
    offer(1, 10 * one, 1);
    offer(1, 12 * one, 2); // higher: takes the place
    offer(2, 10 * one, 1);
    offer(2, 8 * one, 2); // lower: dropped
    offer(4, 10 * one, 1);
    offer(4, -99 * one, 2); // no threshold there: folded
    const std::uint64_t expected[] = {3, 2, 1, 3};
    for (const auto lane : expected)
        EXPECT_EQ(server.receive().update().lanes[0], lane);
    const auto status = bed.olaf.await_drained(10);
    EXPECT_EQ(status["aggregated"], 2u);
    EXPECT_EQ(status["replaced"], 1u);
    EXPECT_EQ(status["dropped_reward"], 1u);
    EXPECT_EQ(status["updates_superseded"], 1u);
    EXPECT_EQ(status["updates_dropped"], 1u);
    expect_identities(status);
}

TEST_F(ClusterRules, MaxCountSealsAndRemoveRestores) {
    bed.olaf.cluster({"set", "0", "--policy", "aggregate", "--max-count", "3"});
    occupy(bed, worker, server);
    const auto before = bed.olaf.status();
    for (std::uint64_t i = 1; i <= 8; i++)
        send({.cluster = 0, .lanes = {i}});
    // Three fit the first entry, three the second; two find both sealed.
    for (const std::uint64_t lane : {1 + 2 + 3, 4 + 5 + 6}) {
        const auto update = server.receive().update();
        EXPECT_EQ(update.count, 3u);
        EXPECT_EQ(update.lanes[0], lane);
    }
    auto status = bed.olaf.await_drained(10);
    EXPECT_EQ(status["dropped_sealed"], 2u);
    EXPECT_EQ(status["appended"] - before["appended"], 2u);
    expect_identities(status);

    bed.olaf.cluster({"remove", "0"});
    const auto told = bed.olaf({"--json", "cluster", "list", "in", "0"});
    const auto rules = nlohmann::json::parse(told.out);
    ASSERT_EQ(rules.size(), 1u) << told.out;
    EXPECT_EQ(rules[0]["policy"], "olaf");
    EXPECT_EQ(rules[0]["max_count"], OLAF_DEFAULT_MAX_COUNT);
}

} // namespace
} // namespace olaf::test::cluster_test
