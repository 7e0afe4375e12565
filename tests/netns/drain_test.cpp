// SPDX-License-Identifier: BSD-2-Clause
// The drain: what waits leaves by itself, a lost token is replaced, and nothing runs while nothing waits.
#include <gtest/gtest.h>

#include <barrier>
#include <thread>

#include "olaf/drain.h"
#include "rounds.hpp"
#include "sockets.hpp"
#include "traces.hpp"
#include "traffic.hpp"

namespace olaf::test::drain_test {
namespace {

// What waits leaves without another arrival and without a process of ours, at the first tick in its
// turn at the rate; then the token dies.

struct Tail {
    const char *name;
    Way way;
    std::int64_t rate_kbit;
    std::int64_t interval_us; ///< of the drain
};

class TailTest : public testing::TestWithParam<Tail> {};

/// So often may the token come round at once, after a rest: what its bucket holds.
constexpr std::uint64_t saved_ticks = OLAF_TOKEN_MAX_TICKS + 1;

// The token comes round once a drain interval until an update's turn, and once more: none waits
// longer.
TEST_P(TailTest, IsDeliveredAndTheTokenDies) {
    const auto &[name, way, rate_kbit, interval_us] = GetParam();
    SocketBed bed{{.way = way}};
    bed.attach({"--rate", std::to_string(rate_kbit) + "kbit", "--drain-interval",
                std::to_string(interval_us) + "us"});
    constexpr std::uint32_t count = 8;
    const auto update_of = [](std::uint32_t cluster) {
        return Update{.cluster = cluster, .lanes = std::vector<std::uint64_t>(100, cluster)};
    };
    for (std::uint32_t cluster = 0; cluster < count; cluster++)
        bed.send(update_of(cluster));
    for (std::uint32_t cluster = 0; cluster < count; cluster++)
        EXPECT_EQ(bed.receive(), update_of(cluster));
    const auto status = bed.olaf.await_drained(count);
    EXPECT_EQ(status["updates_out"], count);
    EXPECT_GT(status["departed_drain"], 0u);
    EXPECT_GE(status.drain("launched"), 1u);
    EXPECT_FALSE(status.token_alive());
    const auto turn_us =
        static_cast<std::int64_t>(bed.path().carrying(update_of(0)).size()) * 8000 / rate_kbit;
    EXPECT_LE(status.drain("ticks"),
              count * static_cast<std::uint64_t>(turn_us / interval_us + 2) + saved_ticks);
    expect_identities(status);
}

INSTANTIATE_TEST_SUITE_P(All, TailTest,
                         testing::Values(Tail{"Local", Way::local, 1000, 100},
                                         Tail{"Bridged", Way::bridged, 1000, 100},
                                         Tail{"Routed", Way::routed, 1000, 1000},
                                         Tail{"OneArmed", Way::one_armed, 1000, 100},
                                         Tail{"Upstream", Way::upstream6, 1000, 100},
                                         Tail{"FastestDrain", Way::local, 1000, 10},
                                         Tail{"SlowDrain", Way::local, 1000, 20'000},
                                         Tail{"SlowerDrain", Way::bridged, 1000, 30'000},
                                         Tail{"SlowestDrain", Way::local, 20, 1'000'000},
                                         Tail{"SlowLink", Way::bridged, 50, 100}),
                         by_name);

TEST(TailLone, OneUpdateThatWaitsLeavesWithinADrainInterval) {
    SocketBed bed;
    bed.attach(slow_link);
    for (int round = 0; round < 2; round++) {
        occupy(bed);
        bed.send(Update{.cluster = 1});
        EXPECT_EQ(bed.receive().cluster, 1u);
        // The link is idle again, credit and all, a large frame's time later, by the queue's own
        // clock.
        const auto age = [](const Status &s) {
            return s.json["attached"]["for_ns"].get<std::int64_t>();
        };
        bed.olaf.await([&, due = age(bed.olaf.status()) + 1'000'000'000](const Status &s) {
            return !s.token_alive() && age(s) > due;
        });
    }
    const auto status = bed.olaf.status();
    EXPECT_EQ(status["passed_through"], 4u);
    EXPECT_EQ(status["departed_drain"], 2u);
    expect_identities(status);
}

TEST(TailSlow, ArrivalsBetweenTwoTicksCarryDeparturesAndTakeTheTokenForAlive) {
    SocketBed bed;
    bed.attach({"--rate", "500kbit", "--drain-interval", "1s"});
    std::uint32_t sent = 0;
    const auto status = bed.olaf.await([&](const Status &s) {
        if (s["departed_riding"] > 20)
            return s["received"] == sent;
        // More than the link carries, however long a look at the status takes.
        for (std::uint32_t i = 0; i < 64; i++, sent++)
            bed.send(Update{.cluster = i % 8, .lanes = std::vector<std::uint64_t>(100, 1)});
        return false;
    });
    EXPECT_LE(status.drain("launched"), status.drain("ticks") + 1)
        << "no second one beside the first";
    expect_identities(bed.olaf.await_drained(sent));
}

// ---- revive ----
// The drain's token is lost while updates wait, and no further update comes: any frame through the
// queue's device replaces it, whichever way it goes, and arrives itself as it was.

struct Setting {
    const char *name;
    std::vector<std::string> arguments;
};

class Revive : public testing::TestWithParam<Setting> {
  protected:
    /// One update waits, and its token is gone: what stands in the drain is purged with it.
    void lose_the_token() {
        // Nothing moves but what a test sends: no hosts' own reports and solicitations.
        bed.host.sysctl("ipv6/conf/in/disable_ipv6", "1");
        bed.worker.sysctl("ipv6/conf/eth0/disable_ipv6", "1");
        // So slow that the update still waits when its token is gone.
        bed.attach(joined({"--rate", "5kbit"}, GetParam().arguments));
        occupy(bed);
        bed.send(Update{.cluster = 1});
        bed.olaf.await([](const Status &s) { return s.drain("launched") == 1; });
        bed.set_drain("down");
        bed.set_drain("up");
        launched = 1;
    }
    /// The frame is seen again and again, for the token isn't late from the first moment.
    void expect_revived_by(const std::function<void()> &frame) {
        await(
            [&] {
                frame();
                return bed.olaf.status().drain("launched") != launched;
            },
            [] { return "a new token"; });
        EXPECT_EQ(bed.receive().cluster, 1u);
        const auto status = bed.olaf.await_drained(3);
        EXPECT_EQ(status["departed_drain"], 1u);
        EXPECT_EQ(status.drain("launched"), launched + 1);
        expect_identities(status);
    }

    SocketBed bed;
    std::uint64_t launched = 0;
};

TEST_P(Revive, ByAFrameThatOnlyComesIn) {
    lose_the_token();
    const PacketSocket wire(bed.worker, "eth0");
    const auto frame = experimental_frame(worker_mac, server_mac);
    const PacketSocket host(bed.host, "in");
    expect_revived_by([&] {
        wire.send(frame);
        auto came = host.poll(std::chrono::seconds(1));
        while (came && came->at(12) != 0x88) // the worker's own multicast reports
            came = host.poll(std::chrono::seconds(1));
        ASSERT_TRUE(came);
        EXPECT_EQ(*came, frame);
    });
}

TEST_P(Revive, ByAFrameThatOnlyLeaves) {
    lose_the_token();
    bed.host.ip("neighbour add 10.0.0.9 lladdr 02:00:00:00:00:99 dev in nud permanent\n");
    const UdpSocket host(bed.host, {.address = "10.0.1.2", .port = 9999});
    const PacketSocket wire(bed.worker, "eth0");
    expect_revived_by([&] {
        host.send(Bytes(100, 0x5a), {.address = "10.0.0.9", .port = 9});
        auto left = wire.poll(std::chrono::seconds(1));
        while (left && left->at(12) == 0x86) // the host's own multicast reports, IPv6
            left = wire.poll(std::chrono::seconds(1));
        ASSERT_TRUE(left);
        EXPECT_EQ(left->size(), 142u);
        EXPECT_EQ(left->at(12), 0x08); // nothing of a token is left in it
        EXPECT_EQ(left->at(14), 0x45);
    });
}

TEST_P(Revive, ByTcpSegmentsHoweverLargeWhichArriveUnharmed) {
    set_offloads(bed.worker, "eth0", {.tx_checksum = true});
    set_offloads(bed.host, "in", {.tx_checksum = true});
    lose_the_token();
    const auto there = random_bytes(300'000, 1), back = random_bytes(300'000, 2);
    expect_revived_by([&] {
        const auto exchanged = exchange_by_tcp(bed.worker, bed.host, Testbed::server_peer(4), there,
                                               back);
        EXPECT_EQ(exchanged.there, there);
        EXPECT_EQ(exchanged.back, back);
    });
}

TEST(ReviveIdle, AnEmptyQueueLaunchesNothing) {
    Testbed bed;
    bed.attach();
    const auto there = random_bytes(100'000, 1);
    exchange_by_tcp(bed.worker, bed.host, Testbed::server_peer(4), there, there);
    EXPECT_EQ(bed.olaf.status().drain("launched"), 0u);
}

INSTANTIATE_TEST_SUITE_P(All, Revive,
                         testing::Values(Setting{"Native", {"--mode", "native"}},
                                         Setting{"Generic", {"--mode", "skb"}},
                                         Setting{"SlowDrain", {"--drain-interval", "200ms"}}),
                         by_name);

// ---- idle ----
// Quiet: attached and idle, nothing of ours runs: no token, no timer, no tick.

/// No chatter of IPv6 on the links, so that any run of a program is its own doing.
void silence(const Testbed &bed) {
    bed.host.sysctl("ipv6/conf/in/disable_ipv6", "1");
    bed.worker.sysctl("ipv6/conf/eth0/disable_ipv6", "1");
}

/// That nothing happens can only be seen by waiting.
constexpr auto a_while = std::chrono::milliseconds(400);

TEST(Idle, CostsNothing) {
    SocketBed bed;
    silence(bed);
    const CountRuns counting;
    bed.attach({"--rate", "1mbit"});
    const auto objects = kernel_objects(bed.host);
    ASSERT_EQ(objects.programs.size(), 5u); // entrance, egress, the three of the drain

    const auto expect_still = [&] {
        const auto before = bed.olaf.status();
        const auto runs = run_count(objects);
        std::this_thread::sleep_for(a_while);
        const auto after = bed.olaf.status();
        EXPECT_EQ(run_count(objects), runs);
        EXPECT_EQ(after.json["drain"], before.json["drain"]);
        EXPECT_EQ(after.json["counters"], before.json["counters"]);
        EXPECT_FALSE(after.token_alive());
    };
    expect_still();
    EXPECT_EQ(bed.olaf.status().drain("launched"), 0u);

    // Traffic that queues: ticks, until the queue is empty.
    for (std::uint32_t i = 0; i < 40; i++)
        bed.send(Update{.cluster = i % 8, .worker = i, .lanes = std::vector<std::uint64_t>(64, 1)});
    const auto status = bed.olaf.await_drained(40);
    expect_identities(status);
    EXPECT_GE(status.drain("launched"), 1u);
    EXPECT_GT(status.drain("ticks"), 0u);
    EXPECT_GT(run_count(objects), 0u);
    expect_still();
}

/// A job's figures, but for how long its members have been silent.
nlohmann::json figures_of_job(const RoundsBed &bed) {
    auto job = bed.job();
    for (auto &member : job.at("members"))
        member.erase("silent_ns");
    return job;
}

TEST(Idle, AJobCostsNothing) {
    RoundsBed bed({.workers = 2, .starts = false});
    silence(bed);
    const CountRuns counting;
    bed.start();
    const auto objects = kernel_objects(bed.host);
    ASSERT_GE(objects.programs.size(), 5u);

    const auto expect_still = [&] {
        const auto before = figures_of_job(bed);
        const auto runs = run_count(objects);
        std::this_thread::sleep_for(a_while);
        const auto after = bed.olaf.status();
        EXPECT_EQ(run_count(objects), runs);
        EXPECT_EQ(figures_of_job(bed), before);
        EXPECT_FALSE(after.token_alive());
        EXPECT_EQ(after.drain("launched"), 0u);
    };
    expect_still(); // without members

    std::barrier both(2);
    bed.for_each_worker([&](Collective &collective, unsigned rank) {
        sum_round(collective, rank, 2, 0, 1000);
        both.arrive_and_wait();
        if (rank == 0)
            expect_still(); // with members that compute
        both.arrive_and_wait();
    });
    EXPECT_GT(run_count(objects), 0u);
    EXPECT_GT(bed.job().at("chunks").at("completed"), 0u);
    expect_still(); // whose members have gone
}

TEST(Idle, APassingUpdateWakesNothing) {
    SocketBed bed;
    silence(bed);
    bed.attach();
    for (std::uint32_t i = 0; i < 10; i++) {
        bed.send(Update{.cluster = i});
        EXPECT_EQ(bed.receive().cluster, i);
    }
    const auto status = bed.olaf.status();
    EXPECT_EQ(status["passed_through"], 10u);
    EXPECT_EQ(status.drain("launched"), 0u);
    EXPECT_EQ(status.drain("ticks"), 0u);
}

} // namespace
} // namespace olaf::test::drain_test
