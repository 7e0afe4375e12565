// SPDX-License-Identifier: BSD-2-Clause
// Training in rounds over loopback sockets. Each worker is the server's own child here, so every
// sum has a gradient of each; tests/netns has it with a threshold, in a node.
#include "round_training.hpp"

#include <gtest/gtest.h>

#include <future>

namespace olaf::cartpole {
namespace {

constexpr std::uint32_t kWorkers = 3;

struct Trained {
    Result<RoundServed> served;
    std::vector<Result<RoundWorked>> worked;
};

Trained train(float target, std::uint32_t staleness) {
    const RoundJob job = {.workers = kWorkers};
    std::promise<Address> bound;
    auto serving = std::async(std::launch::async, [&] {
        return serve_rounds({.job = job,
                             .bind = Address::resolve("127.0.0.1", 0).value(),
                             .children = kWorkers,
                             .target = target,
                             .over = [] { return false; },
                             .bound = [&](const Address &at) { bound.set_value(at); },
                             .silence = std::chrono::milliseconds(300)});
    });
    const Address node = bound.get_future().get();
    std::vector<std::future<Result<RoundWorked>>> working;
    for (std::uint32_t rank = 0; rank < kWorkers; rank++)
        working.push_back(std::async(std::launch::async, [&, rank] {
            return work_in_rounds({.job = job,
                                   .node = node,
                                   .rank = rank,
                                   .staleness = staleness,
                                   .over = [] { return false; }});
        }));
    Trained trained = {.served = serving.get(), .worked = {}};
    for (auto &worker : working)
        trained.worked.push_back(worker.get());
    return trained;
}

TEST(CartPoleRounds, WorkersLearnAndAllEndWithTheSameWeights) {
    const Trained trained = train(60, 1);
    ASSERT_TRUE(trained.served) << trained.served.error().message();
    EXPECT_TRUE(trained.served->reached_s);
    EXPECT_EQ(trained.served->gradients, kWorkers * trained.served->rounds);
    for (const auto &worked : trained.worked) {
        ASSERT_TRUE(worked) << worked.error().message();
        EXPECT_TRUE(worked->trained);
        EXPECT_EQ(worked->version, trained.served->rounds);
        EXPECT_EQ(worked->stats.committed, trained.served->rounds);
        EXPECT_EQ(worked->stats.stalest, 1U) << "one is computed while the last one is summed";
    }
}

// Without slack only what was computed on the newest weights counts: every other gradient.
TEST(CartPoleRounds, WithABoundOfNothingItStillGoesOn) {
    const Trained trained = train(25, 0);
    ASSERT_TRUE(trained.served) << trained.served.error().message();
    for (const auto &worked : trained.worked) {
        ASSERT_TRUE(worked) << worked.error().message();
        EXPECT_EQ(worked->stats.stalest, 0U);
        EXPECT_GE(worked->stats.too_stale + 1, worked->stats.committed);
    }
}

} // namespace
} // namespace olaf::cartpole
