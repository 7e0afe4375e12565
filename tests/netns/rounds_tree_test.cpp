// SPDX-License-Identifier: BSD-2-Clause
// Nodes below nodes, with real sockets, neighbours that ask for each other, and links that lose:
// every worker of the tree gets the exact sum of all.
#include <gtest/gtest.h>

#include <atomic>
#include <climits>
#include <mutex>
#include <span>

#include "round_tree.hpp"

namespace olaf::test::rounds_tree_test {
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

/// Every worker sums so many vectors, rightly, and the books of all nodes are those of just these.
void sum_exactly(const RoundTree &tree, unsigned rounds) {
    tree.for_each_worker(
        [&](Collective &collective, unsigned worker) {
            for (unsigned round = 0; round < rounds && !testing::Test::HasFatalFailure(); round++)
                sum(tree, collective, worker, round);
        },
        as_integers);
    for (unsigned node = 0; node < 3; node++) {
        const auto job = tree.job(node);
        SCOPED_TRACE("node " + std::to_string(node) + ": " + job.dump(1));
        expect_job_identities(job);
        EXPECT_EQ(job["role"], node == 0 ? "root" : "node");
        EXPECT_EQ(job["chunks"]["completed"], rounds * chunks);
        EXPECT_EQ(job["up"]["sent"], node == 0 ? 0 : rounds * chunks);
        EXPECT_EQ(job["contributions"]["added"], rounds * chunks * job["children"].get<unsigned>());
    }
}

class RoundsInTree : public testing::TestWithParam<std::tuple<Shape, unsigned>> {};

TEST_P(RoundsInTree, GiveEveryWorkerTheExactSum) {
    const auto &[shape, loss] = GetParam();
    RoundTree tree(shape.nodes);
    for (unsigned node = 0; node < 3; node++)
        tree.start(node, lanes);
    tree.lose(loss);
    sum_exactly(tree, 4);
    for (unsigned node = 0; node < 3 && loss == 20; node++) // what was lost was sent again
        EXPECT_GT(tree.job(node)["contributions"]["duplicate"], 0) << "node " << node;
}

INSTANTIATE_TEST_SUITE_P(Of, RoundsInTree,
                         testing::Combine(testing::ValuesIn(shapes), testing::Values(1u, 5u, 20u)),
                         [](const auto &info) {
                             return std::string(std::get<0>(info.param).name) + "Losing" +
                                    std::to_string(std::get<1>(info.param)) + "Percent";
                         });

constexpr unsigned numbers[] = {1, 2, 3, 5, 8, 11, 13, 16};

TEST(RoundsInTreeOfAnyNumber, AChainOfThreeSumsExactlyForOneToSixteenWorkers) {
    const auto with = [](unsigned workers) {
        return std::vector<TreeNode>{{0, 0}, {0, 0}, {1, workers}};
    };
    RoundTree chain(with(1));
    for (unsigned node = 0; node < 3; node++)
        chain.start(node, lanes);
    for (const unsigned workers : numbers) {
        SCOPED_TRACE(std::to_string(workers) + " workers");
        chain.set_anew(with(workers), lanes);
        sum_exactly(chain, 2);
    }
}

// A node has one child at least.
TEST(RoundsInTreeOfAnyNumber, ATreeOfThreeSumsExactlyForTwoToSixteenWorkers) {
    const auto with = [](unsigned workers) {
        return std::vector<TreeNode>{{0, 0}, {0, workers - workers / 2}, {0, workers / 2}};
    };
    RoundTree tree(with(2));
    for (unsigned node = 0; node < 3; node++)
        tree.start(node, lanes);
    for (const unsigned workers : std::span(numbers).subspan(1)) {
        SCOPED_TRACE(std::to_string(workers) + " workers");
        tree.set_anew(with(workers), lanes);
        sum_exactly(tree, 2);
    }
}

struct Restart {
    const char *name;
    std::vector<TreeNode> nodes;
    unsigned node; ///< is restarted
    unsigned loss; ///< of a hundred frames, on every link each way
};

class RoundsInTreeInterrupted : public testing::TestWithParam<Restart> {};

TEST_P(RoundsInTreeInterrupted, ByANodesRestartGoOnWithExactSums) {
    RoundTree tree(GetParam().nodes);
    for (unsigned node = 0; node < 3; node++)
        tree.start(node, lanes);
    tree.lose(GetParam().loss);
    const unsigned before = GetParam().loss == 0 ? 10 : 1, after = before; // with loss each takes long
    std::atomic<unsigned> done = 0;
    std::mutex lock;
    unsigned begun = 0, last = UINT_MAX; // of any worker; under the lock
    const auto goes_on = [&](unsigned round) {
        const std::scoped_lock held(lock);
        begun = std::max(begun, round);
        return round < last;
    };
    std::jthread all([&] {
        tree.for_each_worker(
            [&](Collective &collective, unsigned worker) {
                for (unsigned round = 0; goes_on(round) && !HasFatalFailure(); round++) {
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
    tree.stop(GetParam().node);
    tree.start(GetParam().node, lanes);
    ASSERT_NE(done, UINT_MAX);
    const std::scoped_lock held(lock); // so nobody begins a round that another one won't
    last = begun + after;
}

const std::vector<TreeNode> two_leaves = {{0, 1}, {0, 2}, {0, 1}}, chain = {{0, 0}, {0, 0}, {1, 4}};

INSTANTIATE_TEST_SUITE_P(Of, RoundsInTreeInterrupted,
                         testing::Values(Restart{"TheRoot", two_leaves, 0, 0},
                                         Restart{"ALeaf", two_leaves, 1, 0},
                                         Restart{"TheMiddleOfAChain", chain, 1, 0},
                                         Restart{"TheMiddleOfAChainWhileLinksLose", chain, 1, 5}),
                         [](const auto &info) { return info.param.name; });

} // namespace
} // namespace olaf::test::rounds_tree_test
