// SPDX-License-Identifier: BSD-2-Clause
// A parameter server as a node's parent: workers give gradients and get weights, exactly, though a
// part of all messages is lost on every way.
#include <gtest/gtest.h>

#include <thread>

#include <olaf/round_server.hpp>

#include "losing.hpp"
#include "rounds.hpp"

namespace olaf::test::rounds_server_test {
namespace {

constexpr unsigned workers = 4, rounds = 10, lanes = 64;
constexpr std::size_t elements = 126 * 12 + 17;
constexpr std::uint16_t port = 7000;
constexpr auto way_to_stop = std::chrono::seconds(20);

// Whole numbers, so that sums and weights are exact.
std::vector<float> gradient(unsigned rank, unsigned round) {
    std::vector<float> vector(elements);
    for (std::size_t i = 0; i < elements; i++)
        vector[i] = static_cast<float>((i * 31 + rank * 7 + round) % 201) - 100.0F;
    return vector;
}

// Twice the sum is added to weights that began at 1.
void learn(std::span<const float> sum, std::span<float> weights) {
    for (std::size_t i = 0; i < weights.size(); i++)
        weights[i] += 2 * sum[i];
}

std::vector<std::vector<float>> weights_of_rounds() {
    std::vector<std::vector<float>> all;
    std::vector<float> weights(elements, 1.0F);
    for (unsigned round = 0; round < rounds; round++) {
        for (unsigned rank = 0; rank < workers; rank++)
            learn(gradient(rank, round), weights);
        all.push_back(weights);
    }
    return all;
}

class RoundsServer : public testing::Test {
  protected:
    Testbed bed{{.way = Way::local}};

    /// Behind the node's device, where its workers are, too.
    RoundServer server(std::atomic<unsigned> &calls) const {
        const Inside inside(bed.worker);
        auto made = RoundServer::make({.bind = Address::resolve("10.0.0.1", port).value(),
                                       .job = rounds_job,
                                       .children = 1,
                                       .workers = workers,
                                       .lanes = lanes},
                                      std::vector<float>(elements, 1.0F),
                                      [&calls](const RoundSum &sum, std::span<float> weights) {
                                          calls++;
                                          EXPECT_EQ(sum.count, workers);
                                          learn(sum.sum, weights);
                                      });
        if (!made)
            throw std::runtime_error(made.error().message());
        return std::move(*made);
    }
};

TEST_F(RoundsServer, AsANodesParentGivesEveryWorkerTheExactWeightsDespiteLoss) {
    bed.host.sysctl("ipv4/conf/in/forwarding", "1"); // the way to the parent
    bed.attach({"--round-slots", "64"});
    set_job(bed, workers, lanes,
            {"--parent", "10.0.0.1:" + std::to_string(port), "--rank", "0", "--max-count",
             std::to_string(workers)});
    std::atomic<unsigned> calls = 0;
    RoundServer parent = server(calls);
    std::jthread serving([&](const std::stop_token &stop) {
        const auto served = parent.serve(stop);
        EXPECT_TRUE(served) << served.error().message();
    });
    // Both the workers' and the server's: all are behind this device.
    const Losing there(bed.worker, "eth0", Losing::sent, 5);
    const Losing back(bed.worker, "eth0", Losing::received, 5);
    const auto expected = weights_of_rounds();
    for_each_worker(
        bed, workers,
        [&](Collective &collective, unsigned rank) {
            for (unsigned round = 0; round < rounds; round++) {
                auto vector = gradient(rank, round);
                const auto report = collective.allreduce(std::span(vector));
                ASSERT_TRUE(report) << report.error().message();
                ASSERT_EQ(vector, expected[round]) << "round " << round;
            }
            const auto left = collective.leave(way_to_stop);
            EXPECT_TRUE(left) << left.error().message();
        },
        [](CollectiveOptions &options) { options.lanes = lanes; });
    serving.request_stop();
    serving.join();
    EXPECT_EQ(calls, rounds * 13U) << "once a piece and round";
    const auto weights = parent.weights();
    EXPECT_EQ(std::vector<float>(weights.begin(), weights.end()), expected.back());
    EXPECT_GT(parent.stats().repeated, 0U) << "nothing was lost";
    EXPECT_EQ(parent.stats().clipped + parent.stats().rejected.total(), 0U);
}

} // namespace
} // namespace olaf::test::rounds_server_test
