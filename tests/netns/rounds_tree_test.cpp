// SPDX-License-Identifier: BSD-2-Clause
// Nodes below nodes, with real sockets, neighbours that ask for each other, and links that lose:
// every worker of the tree gets the exact sum of all.
#include <gtest/gtest.h>

#include <atomic>

#include "round_tree.hpp"

namespace olaf::test {
namespace {

constexpr unsigned lanes = 64, chunks = 20; // 63 lanes of data: i64x1 elements
constexpr std::size_t elements = std::size_t{63} * chunks;

void as_integers(CollectiveOptions &options) {
    options.format = Format::i64x1;
    options.lanes = lanes;
}

/// Sums one vector at this worker, rightly.
void sum(const RoundTree &tree, Collective &collective, unsigned worker, unsigned round) {
    auto vector = part_of(worker, round, elements);
    const auto report = collective.allreduce(std::span(vector));
    ASSERT_TRUE(report) << report.error().message();
    ASSERT_EQ(vector, sum_of(tree.workers(), round, elements)) << "round " << round;
}

struct Shape {
    const char *name;
    std::vector<TreeNode> nodes;
};

const Shape shapes[] = {
    {"TwoNodesBelowARoot", {{0, 0}, {0, 2}, {0, 2}}},
    {"AChainOfThree", {{0, 0}, {0, 0}, {1, 4}}},
    {"WorkersAtEveryNode", {{0, 2}, {0, 1}, {1, 2}}},
};

class RoundsInTree : public testing::TestWithParam<std::tuple<Shape, unsigned>> {};

TEST_P(RoundsInTree, GiveEveryWorkerTheExactSum) {
    const auto &[shape, loss] = GetParam();
    RoundTree tree(shape.nodes);
    for (unsigned node = 0; node < shape.nodes.size(); node++)
        tree.start(node, lanes);
    tree.lose(loss);
    constexpr unsigned rounds = 4;
    tree.for_each_worker(
        [&](Collective &collective, unsigned worker) {
            for (unsigned round = 0; round < rounds && !HasFatalFailure(); round++)
                sum(tree, collective, worker, round);
        },
        as_integers);
    for (unsigned node = 0; node < shape.nodes.size(); node++) {
        const auto job = tree.job(node);
        SCOPED_TRACE("node " + std::to_string(node) + ": " + job.dump(1));
        expect_job_identities(job);
        EXPECT_EQ(job["role"], node == 0 ? "root" : "node");
        EXPECT_EQ(job["chunks"]["completed"], rounds * chunks);
        EXPECT_EQ(job["up"]["sent"], node == 0 ? 0 : rounds * chunks);
        if (loss == 20) { // what was lost was sent again
            EXPECT_GT(job["contributions"]["duplicate"], 0);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Of, RoundsInTree,
                         testing::Combine(testing::ValuesIn(shapes), testing::Values(1u, 5u, 20u)),
                         [](const auto &info) {
                             return std::string(std::get<0>(info.param).name) + "Losing" +
                                    std::to_string(std::get<1>(info.param)) + "Percent";
                         });

class RoundsInTreeInterrupted : public testing::TestWithParam<unsigned> {};

TEST_P(RoundsInTreeInterrupted, ByANodesRestartGoOnWithExactSums) {
    RoundTree tree({{0, 1}, {0, 2}, {0, 1}});
    for (unsigned node = 0; node < 3; node++)
        tree.start(node, lanes);
    constexpr unsigned before = 10, after = 10;
    std::atomic<unsigned> done = 0, last = UINT_MAX;
    std::jthread all([&] {
        tree.for_each_worker(
            [&](Collective &collective, unsigned worker) {
                for (unsigned round = 0; round < last && !HasFatalFailure(); round++) {
                    sum(tree, collective, worker, round);
                    if (worker == 0) {
                        done = round + 1;
                        done.notify_all();
                    }
                }
            },
            as_integers);
        done = UINT_MAX; // also where a worker failed
        done.notify_all();
    });
    for (unsigned seen = done; seen < before; seen = done)
        done.wait(seen);
    tree.stop(GetParam());
    tree.start(GetParam(), lanes);
    ASSERT_NE(done, UINT_MAX);
    last = done + after;
}

INSTANTIATE_TEST_SUITE_P(Of, RoundsInTreeInterrupted, testing::Values(0u, 1u),
                         [](const auto &info) { return info.param == 0 ? "TheRoot" : "ALeaf"; });

} // namespace
} // namespace olaf::test
