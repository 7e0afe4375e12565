// SPDX-License-Identifier: BSD-2-Clause
// Frames that overtake each other, on each link of one node and of a tree: every sum is exact, and the
// books add up.
#include <gtest/gtest.h>

#include "round_tree.hpp"

namespace olaf::test::rounds_reordered_test {
namespace {

constexpr unsigned lanes = 64, chunks = 40, rounds = 6; // 63 lanes of data
constexpr std::size_t elements = std::size_t{63} * chunks;

/// A way from the switch, where frames overtake each other.
constexpr int to_workers = -1; // else the number of a node

struct Setting {
    const char *name;
    std::vector<TreeNode> nodes;
    std::vector<int> ways;
    TreeFanout fanout = TreeFanout::ride;
    unsigned loss = 0; ///< of a hundred frames, on every link each way
};

const std::vector<TreeNode> star = {{0, 4}}, tree = {{0, 1}, {0, 2}, {1, 1}};

const Setting settings[] = {
    {"FromAStarsWorkers", star, {0}},
    {"ToAStarsWorkers", star, {to_workers}},
    {"BothWays", star, {to_workers, 0}},
    {"BothWaysByMulticast", star, {to_workers, 0}, TreeFanout::flooded},
    {"ToATreesWorkers", tree, {to_workers}},
    {"ToATreesRoot", tree, {0}},
    {"ToANodeBetween", tree, {1}},
    {"ToALeaf", tree, {2}},
    {"EverywhereInATree", tree, {to_workers, 0, 1, 2}},
    {"EverywhereInATreeByMulticast", tree, {to_workers, 0, 1, 2}, TreeFanout::flooded},
    {"EverywhereInATreeThatLoses", tree, {to_workers, 0, 1, 2}, TreeFanout::ride, 2},
};

class RoundsReordered : public testing::TestWithParam<Setting> {};

TEST_P(RoundsReordered, GiveEveryWorkerTheExactSum) {
    const auto &setting = GetParam();
    RoundTree net(setting.nodes, setting.fanout);
    const auto nodes = static_cast<unsigned>(setting.nodes.size());
    for (unsigned node = 0; node < nodes; node++)
        net.start(node, lanes);
    if (setting.loss != 0)
        net.lose(setting.loss);
    for (const int way : setting.ways)
        way == to_workers ? net.reorder_to_workers()
                          : net.reorder_to_node(static_cast<unsigned>(way));
    net.for_each_worker(
        [&](Collective &collective, unsigned worker) {
            for (unsigned round = 0; round < rounds; round++) {
                auto vector = part_of(worker, round, elements);
                const auto report = collective.allreduce(std::span(vector));
                ASSERT_TRUE(report) << report.error().message();
                ASSERT_EQ(vector, sum_of(net.workers(), round, elements)) << "round " << round;
                EXPECT_EQ(report->partial + report->late, 0u);
            }
        },
        [](CollectiveOptions &options) {
            options.format = Format::i64x1;
            options.lanes = lanes;
        });
    EXPECT_TRUE(net.has_reordered());
    for (unsigned node = 0; node < nodes; node++) {
        const auto job = net.job(node);
        SCOPED_TRACE("node " + std::to_string(node) + ": " + job.dump(1));
        expect_job_identities(job);
        EXPECT_EQ(job["chunks"]["completed"], rounds * chunks);
        EXPECT_EQ(job["contributions"]["added"],
                  rounds * chunks * job["children"].get<unsigned>());
        EXPECT_EQ(job["up"]["sent"], node == 0 ? 0 : rounds * chunks);
    }
}

INSTANTIATE_TEST_SUITE_P(Of, RoundsReordered, testing::ValuesIn(settings),
                         [](const auto &info) { return info.param.name; });

} // namespace
} // namespace olaf::test::rounds_reordered_test
