// SPDX-License-Identifier: BSD-2-Clause
// Departures leave in the order in which their entry was appended, whether they ride or drain.
#include <gtest/gtest.h>

#include "traffic.hpp"

namespace olaf::test::order_test {
namespace {

class Order : public testing::TestWithParam<Way> {
  protected:
    Testbed bed{{.way = GetParam()}};
    UdpSocket worker{bed.worker, Testbed::worker_peer(4)};
    UdpSocket server{bed.server(), Testbed::server_peer(4)};
};

TEST_P(Order, FoldingAndReplacingMoveNoEntry) {
    bed.attach(slow_link);
    occupy(bed, worker, server);
    const auto before = bed.olaf.status();
    const std::uint32_t clusters[] = {4, 0, 3, 1, 2};
    for (const auto cluster : clusters)
        worker.send(Update{.cluster = cluster, .worker = 1, .lanes = {1}}, bed.target(4));
    // Last first: 2, 1 and 3 are aggregated (another worker), 0 and 4 replaced (the same).
    for (const std::uint32_t cluster : {2u, 1u, 3u})
        worker.send(Update{.cluster = cluster, .worker = 2, .lanes = {10}}, bed.target(4));
    for (const std::uint32_t cluster : {0u, 4u})
        worker.send(Update{.cluster = cluster, .worker = 1, .lanes = {100}}, bed.target(4));
    for (const auto cluster : clusters) {
        const auto update = server.receive().update();
        EXPECT_EQ(update.cluster, cluster);
        EXPECT_EQ(update.lanes[0], cluster == 0 || cluster == 4 ? 100u : 11u);
    }
    const auto status = bed.olaf.await_drained(12);
    EXPECT_EQ(status["appended"] - before["appended"], 5u);
    EXPECT_EQ(status["aggregated"], 3u);
    EXPECT_EQ(status["replaced"], 2u);
    EXPECT_EQ(status["updates_superseded"], 2u);
    EXPECT_EQ(status["departed_drain"] - before["departed_drain"], 5u);
    expect_identities(status);
}

TEST_P(Order, FifoKeepsTheOrderOfArrival) {
    const auto queue = bed.places(4096), count = std::min(queue, 600u);
    bed.attach({"--policy", "fifo", "--rate", "4mbit", "--queue", std::to_string(queue)});
    for (std::uint32_t i = 0; i < count; i++)
        worker.send(Update{.cluster = i % 7, .sequence = i, .lanes = {i}}, bed.target(4));
    for (std::uint32_t i = 0; i < count; i++)
        ASSERT_EQ(server.receive().update().sequence, i);
    const auto status = bed.olaf.await_drained(count);
    EXPECT_EQ(status["received"], count);
    EXPECT_EQ(status["appended"] + status["passed_through"], count);
    EXPECT_GT(status["departed_drain"], 0u);
    expect_identities(status);
}

INSTANTIATE_TEST_SUITE_P(All, Order, testing::Values(Way::local, Way::bridged, Way::routed),
                         [](const auto &info) {
                             return info.param == Way::local     ? "Local"
                                    : info.param == Way::bridged ? "Bridged"
                                                                 : "Routed";
                         });

} // namespace
} // namespace olaf::test::order_test
