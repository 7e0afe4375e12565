// SPDX-License-Identifier: BSD-2-Clause
// What depends on time: pacing, active clusters, and a queue that is being emptied.
#include <bpf/bpf.h>

#include "queue_test.hpp"

namespace olaf::test::time_test {
namespace {

/// A second of credit: more than a test takes between two looks at the clock, emulated or not.
class Pacing : public QueueTest {
  protected:
    Pacing() : QueueTest([] {
        auto config = small_queue();
        config.drain_interval_ns = 1'000'000'000;
        return config;
    }()) {}
};

/// 1 Gbit/s: 8 ns a byte.
TEST_F(Pacing, ADepartureTakesItsSerialisationTimeFromTheLink) {
    Frame frame = ipv4().carrying(Update{.cluster = 1});
    auto ahead = monotonic_ns() - 1; // due, and less than the credit ago
    queue.set_link(ahead, UINT64_MAX / 2);
    queue.offer(frame);
    EXPECT_EQ(queue.ring().next_departure_ns, ahead + 8 * frame.size());
    append(frame);
    ahead = monotonic_ns() - 1;
    queue.set_link(ahead, UINT64_MAX / 2);
    Update longer{.cluster = 2, .lanes = lanes_of(50)};
    queue.offer(ipv4().carrying(longer)); // what is charged is the head, not the carrier
    EXPECT_EQ(queue.ring().next_departure_ns, ahead + 8 * frame.size());
}

TEST_F(Pacing, AnIdleLinkSavesOneDrainIntervalAtMost) {
    Frame frame = ipv4().carrying(Update{.cluster = 1});
    queue.set_link(1, UINT64_MAX / 2);
    auto before = monotonic_ns();
    queue.offer(frame);
    auto after = monotonic_ns();
    auto start = queue.ring().next_departure_ns - 8 * frame.size() +
                 queue.config().drain_interval_ns;
    EXPECT_GE(start + clock_slack_ns, before);
    EXPECT_LE(start, after);
}

TEST_F(Pacing, NothingThatIsDroppedTakesTime) {
    queue.set_rule(1, rule(OLAF_POLICY_OLAF, 0));
    append(ipv4().carrying(Update{.cluster = 1, .reward = 5}));
    auto next = queue.ring().next_departure_ns;
    queue.offer(ipv4().carrying(Update{.cluster = 1, .worker = 2, .reward = 1}));
    EXPECT_EQ(queue.totals().dropped_reward, 1u);
    EXPECT_EQ(queue.ring().next_departure_ns, next);
}

class Unlimited : public QueueTest {
  protected:
    Unlimited() : QueueTest([] {
        auto config = small_queue();
        config.rate_bps = 0;
        return config;
    }()) {}
};

TEST_F(Unlimited, EverythingPassesThrough) {
    for (std::uint32_t i = 0; i < 20; i++) {
        Frame frame = ipv4().carrying(Update{.cluster = i % 8});
        expect_sent(queue.offer(frame), frame.bytes);
    }
    EXPECT_EQ(queue.totals().passed_through, 20u);
}

class ActiveClusters : public QueueTest, public testing::WithParamInterface<std::uint64_t> {
  protected:
    ActiveClusters() : QueueTest([] {
        auto config = small_queue();
        config.activity_window_ns = GetParam();
        return config;
    }()) {}
};

TEST_P(ActiveClusters, AreThoseThatSentLately) {
    for (std::uint32_t cluster : {1u, 2u, 1u, 5u, 2u, 1u})
        queue.offer(ipv4().carrying(Update{.cluster = cluster}));
    auto now = monotonic_ns();
    EXPECT_EQ(queue.active_clusters(now), 3u);
    EXPECT_EQ(queue.active_clusters(now + 2 * GetParam()), 0u);
}

TEST_P(ActiveClusters, RefusedAndMalformedUpdatesDoNotCount) {
    queue.offer(ipv4().carrying(Update{.cluster = 99}));
    queue.offer(ipv4().carrying(Update{.cluster = 1, .count = 0}));
    EXPECT_EQ(queue.active_clusters(monotonic_ns()), 0u);
}

// The longest window is longer than this machine may have been up.
INSTANTIATE_TEST_SUITE_P(Windows, ActiveClusters,
                         testing::Values(1'000'000'000, 3'600'000'000'000),
                         [](const auto &info) {
                             return std::to_string(info.param / 1'000'000'000) + "s";
                         });

class Emptying : public QueueTest {
  protected:
    void drain_until(std::uint64_t until_ns) {
        const olaf_control control{.emptying_until_ns = until_ns, .held_until_ns = 0, .figures_from_ns = 0};
        std::uint32_t zero = 0;
        ASSERT_EQ(bpf_map_update_elem(queue.queue().map_fd("olaf_control"), &zero, &control, 0), 0);
    }
};

TEST_F(Emptying, NothingNewWaitsWhetherTheLinkIsBusyOrFree) {
    append(ipv4().carrying(Update{.cluster = 1}));
    drain_until(UINT64_MAX);
    Frame frame = ipv4().carrying(Update{.cluster = 2});
    queue.link_busy();
    expect_sent(queue.offer(frame), frame.bytes);
    queue.link_free();
    queue.offer(frame);
    for (const auto &entry : queue.waiting())
        EXPECT_EQ(entry.pending.cluster, 1u);
}

TEST_F(Emptying, AnOrderThatIsNotRenewedChangesNothing) {
    drain_until(monotonic_ns());
    append(ipv4().carrying(Update{.cluster = 1}));
    EXPECT_EQ(queue.waiting().size(), 1u);
}

} // namespace
} // namespace olaf::test::time_test
