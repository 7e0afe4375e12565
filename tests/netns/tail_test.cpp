// SPDX-License-Identifier: BSD-2-Clause
// What waits leaves without another arrival and without a process of ours, within its turn at
// the rate and a drain interval; then the token dies.
#include <gtest/gtest.h>

#include <thread>

#include "traffic.hpp"

namespace olaf::test::tail_test {
namespace {

struct Tail {
    const char *name;
    Way way;
    const char *rate;
    const char *drain_interval;
    std::int64_t bound_ns; ///< turn at the rate and drain interval
};

class TailTest : public testing::TestWithParam<Tail> {};

TEST_P(TailTest, IsDeliveredAndTheTokenDies) {
    const auto &tail = GetParam();
    Testbed bed{{.way = tail.way}};
    const UdpSocket worker(bed.worker, Testbed::worker_peer(4));
    const int family = tail.way == Way::upstream6 ? 6 : 4; // at the server
    const UdpSocket server(bed.server(), Testbed::server_peer(family));
    bed.attach({"--rate", tail.rate, "--drain-interval", tail.drain_interval});
    constexpr std::uint32_t count = 8;
    std::int64_t last = 0;
    for (std::uint32_t i = 0; i < count; i++)
        worker.send(Update{.cluster = i, .lanes = std::vector<std::uint64_t>(100, i)},
                    bed.target(4));
    timespec sent{};
    clock_gettime(CLOCK_REALTIME, &sent);
    for (std::uint32_t i = 0; i < count; i++) {
        const auto datagram = server.receive();
        EXPECT_EQ(datagram.update().cluster, i);
        last = datagram.timestamp_ns;
    }
    // A second of allowance for a machine that does something else.
    EXPECT_LE(last - (sent.tv_sec * 1'000'000'000LL + sent.tv_nsec), tail.bound_ns + 1'000'000'000);
    const auto status = bed.olaf.await_drained(count);
    EXPECT_EQ(status["updates_out"], count);
    EXPECT_GT(status["departed_drain"], 0u);
    EXPECT_GE(status.drain("launched"), 1u);
    EXPECT_FALSE(status.token_alive());
    expect_identities(status);
}

INSTANTIATE_TEST_SUITE_P(
    All, TailTest,
    testing::Values(Tail{"Local", Way::local, "1mbit", "100us", 70'000'000},
                    Tail{"Bridged", Way::bridged, "1mbit", "100us", 70'000'000},
                    Tail{"Routed", Way::routed, "1mbit", "1ms", 70'000'000},
                    Tail{"OneArmed", Way::one_armed, "1mbit", "100us", 70'000'000},
                    Tail{"Upstream", Way::upstream6, "1mbit", "100us", 70'000'000},
                    Tail{"FastestDrain", Way::local, "1mbit", "10us", 70'000'000},
                    Tail{"SlowDrain", Way::local, "1mbit", "20ms", 100'000'000},
                    Tail{"SlowerDrain", Way::bridged, "1mbit", "30ms", 110'000'000},
                    Tail{"SlowestDrain", Way::local, "20kbit", "1s", 4'000'000'000},
                    Tail{"SlowLink", Way::bridged, "50kbit", "100us", 1'400'000'000}),
    [](const auto &info) { return std::string(info.param.name); });

TEST(TailLone, OneUpdateThatWaitsLeavesWithinADrainInterval) {
    Testbed bed;
    const UdpSocket worker(bed.worker, Testbed::worker_peer(4));
    const UdpSocket server(bed.server(), Testbed::server_peer(4));
    bed.attach(slow_link);
    for (int round = 0; round < 2; round++) {
        occupy(bed, worker, server);
        worker.send(Update{.cluster = 1}, bed.target(4));
        EXPECT_EQ(server.receive().update().cluster, 1u);
        // The link is idle again, credit and all, a large frame's time later.
        bed.olaf.await(
            [&, due = std::chrono::steady_clock::now() + std::chrono::seconds(1)](const Status &s) {
                return !s.token_alive() && std::chrono::steady_clock::now() > due;
            });
    }
    const auto status = bed.olaf.status();
    EXPECT_EQ(status["passed_through"], 4u);
    EXPECT_EQ(status["departed_drain"], 2u);
    expect_identities(status);
}

TEST(TailSlow, ArrivalsBetweenTwoTicksCarryDeparturesAndTakeTheTokenForAlive) {
    Testbed bed;
    const UdpSocket worker(bed.worker, Testbed::worker_peer(4));
    bed.attach({"--rate", "500kbit", "--drain-interval", "1s"});
    const std::vector<std::uint64_t> lanes(100, 1);
    std::uint32_t sent = 0;
    while (sent < 400) { // an update in 4 ms, where the link takes one in 14, after a second of credit
        worker.send(Update{.cluster = sent++ % 8, .lanes = lanes}, bed.target(4));
        std::this_thread::sleep_for(std::chrono::milliseconds(4));
    }
    const auto status = bed.olaf.await([&](const Status &s) { return s["received"] == sent; });
    EXPECT_GT(status["departed_riding"], 20u);
    EXPECT_LE(status.drain("launched"), 3u);
    expect_identities(bed.olaf.await_drained(sent));
}

} // namespace
} // namespace olaf::test::tail_test
