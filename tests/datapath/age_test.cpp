// SPDX-License-Identifier: BSD-2-Clause
// Times: Age-of-Model, events, and pacing.
#include <algorithm>
#include <chrono>
#include <ctime>
#include <thread>

#include "loader/datapath/aom.hpp"
#include "listener.hpp"
#include "queue_test.hpp"
#include "tests/effort.hpp"

namespace olaf::test::age_test {
namespace {

// ---- Age-of-Model, kept by the programs themselves: the paper's worked example, and its limits.

constexpr std::uint32_t measured = 1, carrier = 7;

std::uint64_t tai_ns() {
    timespec now{};
    clock_gettime(CLOCK_TAI, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(now.tv_nsec);
}

/// A cluster has one segment here, so its slot is its id.
class Aom : public QueueTest {
  protected:
    explicit Aom(bool meter = true) : QueueTest(small_queue([&](auto &config) {
        config.max_segments = 1;
        config.meter = meter;
    })) {}

    /// Cluster 1's, read as every command reads it.
    [[nodiscard]] olaf::ClusterAom read() const {
        const auto reading = olaf::read_aom(
            queue.config(), [&](const char *name) { return queue.queue().map_fd(name); });
        EXPECT_TRUE(reading.has_value());
        for (const auto &cluster : reading->clusters)
            if (cluster.cluster == measured)
                return cluster;
        return {};
    }

    /// Frames of another cluster come by until cluster 1's update has left in one.
    void depart() {
        const auto before = queue.aom(measured).ended;
        for (int i = 0; i < 4 && queue.aom(measured).ended == before; i++) {
            queue.link_free();
            EXPECT_EQ(queue.offer(ipv4().carrying(Update{.cluster = carrier})).verdict, XDP_PASS);
        }
        EXPECT_EQ(queue.aom(measured).ended, before + 1);
    }

    void arrive(std::uint32_t worker, std::uint64_t generated) {
        queue.link_busy();
        EXPECT_EQ(queue
                      .offer(ipv4().carrying(
                          Update{.cluster = measured, .worker = worker, .generated_ns = generated}))
                      .verdict,
                  XDP_DROP);
    }

    /// `ns` go by: every moment that cluster 1's meter and waiting updates hold moves back.
    void pass(std::uint64_t ns) {
        auto aom = queue.aom(measured);
        if (aom.ended != 0) {
            aom.first_ns -= ns;
            aom.last_ns -= ns;
            aom.arrival.newest_ns -= static_cast<std::int64_t>(ns);
            aom.generated.newest_ns -= static_cast<std::int64_t>(ns);
            queue.set_aom(measured, aom);
        }
        for (const std::uint32_t buffer : {0u, 1u}) {
            const std::uint32_t entry = buffer * queue.config().max_clusters + measured;
            auto pending = queue.pending(entry);
            pending.first_arrived_ns -= ns;
            pending.arrived_ns -= ns;
            pending.generated_ns -= ns;
            queue.set_pending(entry, pending);
        }
    }
};

/*
 * Figure 5 of the paper, with times of our own in units of a second: updates 1, 2 and
 * 3 meet an empty queue, 5 is folded into 4, 7 and 8 into 6. Each was generated one unit before
 * it arrived.
 *
 *   n   1   2   3   4   5   6   7   8        D(1) =  2   falls to 2
 *   A   0   4   6   9  11  13  14  16        D(2) =  5   peak 5 - 0 = 5,   falls to 5 - 4 = 1
 *                                            D(3) =  8   peak 8 - 4 = 4,   falls to 8 - 6 = 2
 *                                            D(5) = 12   peak 12 - 6 = 6,  falls to 12 - 11 = 1
 *                                            D(8) = 18   peak 18 - 11 = 7, falls to 18 - 16 = 2
 *
 * Area from D(1) to D(8): 3 x (2 + 5) / 2 + 3 x (1 + 4) / 2 + 4 x (2 + 6) / 2 + 6 x (1 + 7) / 2
 * = 10.5 + 7.5 + 16 + 24 = 58, over 16 units: 3.625 on average.
 */
TEST_F(Aom, FollowsFigure5) {
    constexpr std::uint64_t unit = 1'000'000'000;
    constexpr int arrivals[] = {0, 4, 6, 9, 11, 13, 14, 16}, departures[] = {2, 5, 8, 12, 18};
    be_up_for(28 * unit);
    const auto begin = monotonic_ns();
    for (int now = 0, worker = 1; now <= 18; now++) {
        if (std::ranges::find(arrivals, now) != std::end(arrivals))
            arrive(static_cast<std::uint32_t>(worker++), tai_ns() - unit);
        if (std::ranges::find(departures, now) != std::end(departures))
            depart();
        if (now < 18)
            pass(unit);
    }
    const auto aom = queue.aom(measured);
    olaf::ClusterAom last; // as it was at D(8)
    olaf::add_segment(last, aom, aom.last_ns);
    pass(10 * unit); // nothing more comes: what is read goes on growing
    const auto later = read();
    // All that isn't a whole number of units is time that this test took itself.
    const auto slack = static_cast<double>(monotonic_ns() - begin);
    const auto near = [&](double ns, double units) {
        EXPECT_NEAR(ns, units * static_cast<double>(unit), slack);
    };
    EXPECT_EQ(last.departures, 5u);
    EXPECT_EQ(last.updates, 8u);
    EXPECT_EQ(last.arrival.peaks, 4u);
    near(static_cast<double>(last.arrival.time_ns), 16);
    near(last.arrival.average_ns(), 58.0 / 16);
    near(last.arrival.mean_peak_ns(), (5 + 4 + 6 + 7) / 4.0);
    near(static_cast<double>(last.arrival.highest_peak_ns), 7);
    near(static_cast<double>(last.arrival.last_age_ns), 2);
    near(last.generated.average_ns(), 58.0 / 16 + 1);
    near(last.generated.mean_peak_ns(), 22 / 4.0 + 1);
    near(static_cast<double>(last.generated.highest_peak_ns), 8);
    near(static_cast<double>(last.generated.age_ns), 3);
    near(last.mean_wait_ns(), (2 + 1 + 2 + 3 + 5) / 5.0);
    near(static_cast<double>(last.wait_max_ns), 5);
    EXPECT_EQ(last.folds[0], 3u);
    EXPECT_EQ(last.folds[1], 2u); // 2 and 3 updates
    EXPECT_EQ(last.from_future, 0u);
    EXPECT_EQ(last.stale(), 0u);

    near(static_cast<double>(later.arrival.age_ns), 12);
    near(later.arrival.average_ns(), (58 + 10 * (2 + 12) / 2.0) / 26);
}

TEST_F(Aom, WhatPassesThroughIsFreshAndFallsToNothing) {
    queue.link_free();
    queue.offer(ipv4().carrying(Update{.cluster = measured, .generated_ns = tai_ns() - 1'000'000}));
    queue.set_link(0, UINT64_MAX / 2);
    pass(1'000'000'000);
    const auto generated = tai_ns() - 2'000'000;
    queue.offer(ipv4().carrying(Update{.cluster = measured, .generated_ns = generated}));
    const auto aom = queue.aom(measured);
    EXPECT_EQ(queue.totals().passed_through, 2u);
    EXPECT_EQ(aom.ended, 2u);
    EXPECT_EQ(aom.arrival.last_age_ns, 0u);
    EXPECT_EQ(aom.age_by_arrival[0], 2u);
    EXPECT_EQ(aom.wait_max_ns, 0u);
    EXPECT_GE(aom.arrival.highest_peak_ns, 1'000'000'000u);
    EXPECT_GE(aom.generated.last_age_ns, 2'000'000u);
    EXPECT_LE(aom.generated.last_age_ns, tai_ns() - generated);
}

/// The ages of the two clocks differ by what lies between generation and arrival, to 1 us.
TEST_F(Aom, KnowsTaiToAMicrosecond) {
    std::uint64_t best = UINT64_MAX;
    for (int i = 0; i < 200 && best > 1000; i++) {
        queue.link_free();
        const auto before = tai_ns();
        queue.offer(ipv4().carrying(Update{.cluster = measured, .generated_ns = before}));
        const auto took = tai_ns() - before;
        const auto aom = queue.aom(measured);
        ASSERT_EQ(aom.from_future, 0u);
        ASSERT_LE(aom.generated.last_age_ns, took);
        best = std::min<std::uint64_t>(best, took);
    }
}

/// Hostile: before 1970, and after the end of time.
TEST_F(Aom, AnyGeneratedTimeIsBounded) {
    for (const std::uint64_t generated :
         {std::uint64_t{0}, UINT64_MAX, std::uint64_t{1} << 63, tai_ns() + 3'600'000'000'000}) {
        queue.link_free();
        queue.offer(ipv4().carrying(Update{.cluster = measured, .generated_ns = generated}));
    }
    const auto aom = queue.aom(measured);
    EXPECT_EQ(aom.ended, 4u);
    EXPECT_EQ(aom.from_future, 3u);
    EXPECT_EQ(aom.generated.last_age_ns, 0u);
    EXPECT_LE(aom.generated.highest_peak_ns, tai_ns());
    EXPECT_LE(read().generated.age_ns, 1'000'000'000u); // from what was of the future on
}

TEST_F(Aom, VersionLagIsBehindTheNewestDeparted) {
    for (const std::uint32_t version : {5u, 9u, 7u}) {
        queue.link_free();
        queue.offer(ipv4().carrying(Update{.cluster = measured, .model_version = version}));
    }
    const auto cluster = read();
    EXPECT_EQ(cluster.version_newest, 9u);
    EXPECT_EQ(cluster.version_lag, 2u);
    EXPECT_EQ(cluster.version_lag_max, 2u);
    EXPECT_DOUBLE_EQ(cluster.mean_version_lag(), 2 / 3.0);
}

class Unmetered : public Aom {
  protected:
    Unmetered() : Aom(false) {}
};

TEST_F(Unmetered, CompiledOutItWritesNothing) {
    queue.link_free();
    queue.offer(ipv4().carrying(Update{.cluster = measured}));
    append(ipv4().carrying(Update{.cluster = measured}));
    queue.link_free();
    queue.offer(ipv4().carrying(Update{.cluster = carrier}));
    EXPECT_EQ(queue.totals().departed_riding, 1u);
    EXPECT_EQ(queue.totals().passed_through, 1u);
    EXPECT_EQ(queue.aom(measured).ended, 0u);
}

// ---- What a listener is told, and that nobody else pays for it.

class Events : public QueueTest, protected Listener {
  protected:
    Events() : Listener(queue) {}
};

void expect_kind(const Told &told, olaf_event_kind kind, unsigned detail, unsigned cause = 0) {
    EXPECT_EQ(told.event.kind, kind);
    EXPECT_EQ(told.event.detail, detail);
    EXPECT_EQ(told.event.cause, cause);
}

TEST_F(Events, NobodyListensUnlessTheLeaseLastsOn) {
    queue.offer(ipv4().carrying(Update{.cluster = 1}));
    auto ended = everything();
    ended.until_ns = monotonic_ns();
    listen(ended);
    queue.offer(ipv4().carrying(Update{.cluster = 1}));
    queue.offer(ipv4().carrying(Update{.cluster = 99}));
    EXPECT_TRUE(told().empty());
    EXPECT_EQ(queue.counters().events_lost, 0u);
    listen(everything());
    queue.offer(ipv4().carrying(Update{.cluster = 1}));
    EXPECT_EQ(told().size(), 1u);
}

TEST_F(Events, TellWhyAFrameWasRefused) {
    listen(everything());
    const Frame bad = ipv4().carrying(Update{.cluster = 1, .count = 0});
    queue.offer(bad);
    auto told = told_once();
    expect_kind(told, OLAF_EVENT_DROP, OLAF_DROPPED_MALFORMED, OLAF_MALFORMED_COUNT);
    EXPECT_EQ(hex(told.frame), hex(bad.bytes));
    queue.offer(ipv4().carrying(Update{.cluster = 99}));
    told = told_once();
    expect_kind(told, OLAF_EVENT_DROP, OLAF_DROPPED_NOT_ALLOWED, OLAF_NOT_ALLOWED_CLUSTER);
    EXPECT_EQ(told.event.cluster, 99u);
    queue.offer(ipv4().carrying(Ack{.cluster = 1}));
    EXPECT_TRUE(this->told().empty());
}

TEST_F(Events, OnlyWhatIsAskedFor) {
    auto wanted = everything();
    wanted.first_cluster = wanted.last_cluster = 2;
    wanted.kinds = 1u << OLAF_EVENT_ARRIVAL;
    wanted.frame_bytes = 20;
    listen(wanted);
    append(ipv4().carrying(Update{.cluster = 1}));
    EXPECT_TRUE(told().empty());
    const Frame frame = ipv4().carrying(Update{.cluster = 2});
    append(frame);
    const auto told = told_once();
    EXPECT_EQ(told.event.cluster, 2u);
    EXPECT_EQ(told.event.frame_bytes, frame.size());
    EXPECT_EQ(hex(told.frame), hex(Bytes(frame.bytes.begin(), frame.bytes.begin() + 20)));
    wanted.frame_bytes = 0;
    listen(wanted);
    queue.link_free();
    queue.offer(ipv4().carrying(Update{.cluster = 2})); // a departure as well, of cluster 1
    EXPECT_EQ(told_once().event.captured_bytes, 0u);
}

TEST_F(Events, OneOfSoMany) {
    auto wanted = everything();
    wanted.sample = 10;
    listen(wanted);
    std::jthread one_cpu([&] { // sampling counts by CPU
        pin_to(0);
        queue.link_free();
        for (int i = 0; i < 200; i++)
            queue.offer(ipv4().carrying(Update{.cluster = 1}));
    });
    one_cpu.join();
    const auto all = told();
    EXPECT_EQ(all.size(), 20u);
    for (const auto &told : all)
        EXPECT_EQ(told.event.sampled, 10u);
}

/// Every CPU tells at once: nothing is told twice, and what isn't told is counted.
TEST_F(Events, FromEveryCpuAtOnce) {
    listen(everything());
    constexpr std::uint32_t frames = 20'000, cpus = 2;
    std::uint64_t seen = 0;
    {
        std::vector<std::jthread> pool;
        for (std::uint32_t cpu = 0; cpu < cpus; cpu++)
            pool.emplace_back([&, cpu] {
                for (std::uint32_t i = 0; i < frames; i++)
                    queue.offer(ipv4().carrying(Update{.cluster = i % 3, .worker = cpu}));
            });
        for (std::uint32_t i = 0; i < 50; i++)
            seen += told().size();
    }
    seen += told().size();
    const auto totals = queue.totals();
    EXPECT_EQ(totals.received, frames * cpus);
    EXPECT_EQ(seen + queue.counters().events_lost, frames * cpus + totals.departed_riding);
}

/// Nobody reads: what doesn't fit is lost and counted, and no update notices.
TEST_F(Events, AFullBufferLosesEventsAndNoUpdate) {
    listen(everything());
    constexpr std::uint64_t frames = 30'000;
    const Frame frame = ipv4().carrying(Update{.cluster = 1});
    for (std::uint64_t i = 0; i < frames; i++) {
        queue.link_free(); // a fast CPU offers the next frame before the link has sent the last one
        EXPECT_EQ(queue.offer(frame).verdict, XDP_PASS);
    }
    EXPECT_EQ(queue.totals().received, frames);
    EXPECT_EQ(queue.totals().updates_out + queue.updates_waiting(), frames);
    const auto lost = queue.counters().events_lost;
    EXPECT_GT(lost, 0u);
    EXPECT_EQ(told().size() + lost, queue.totals().passed_through + queue.totals().appended +
                                        queue.totals().aggregated + queue.totals().replaced +
                                        queue.totals().departed_riding);
}

// ---- What depends on time: pacing, active clusters, and a queue that is being emptied.

/// A second of credit: more than a test takes between two looks at the clock, emulated or not.
class Pacing : public QueueTest {
  protected:
    Pacing()
        : QueueTest(small_queue([](auto &config) { config.drain_interval_ns = 1'000'000'000; })) {}
};

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

/// A frame takes a thousand drain intervals.
class SlowLink : public QueueTest {
  protected:
    SlowLink() : QueueTest(small_queue([](auto &config) { config.rate_bps = 10'000; })) {}
};

TEST_F(SlowLink, SavesOneFrameWhereThatTakesLongerThanADrainInterval) {
    queue.set_link(1, UINT64_MAX / 2);
    queue.offer(ipv4().carrying(Update{.cluster = 1}));
    EXPECT_LE(queue.ring().next_departure_ns, monotonic_ns());
    EXPECT_EQ(queue.totals().passed_through, 1u);
}

class ActiveClusters : public QueueTest, public testing::WithParamInterface<std::uint64_t> {
  protected:
    ActiveClusters()
        : QueueTest(small_queue([](auto &config) { config.activity_window_ns = GetParam(); })) {}
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

class Epochs : public QueueTest {
  protected:
    static constexpr std::uint64_t window = 10'000'000'000;

    Epochs() : QueueTest(small_queue([](auto &config) { config.activity_window_ns = window; })) {
        be_up_for(3 * window);
        while (monotonic_ns() % window > window - 1'000'000'000) // the epoch is nearly over
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }

    void hear(std::uint32_t cluster) { queue.offer(ipv4().carrying(Update{.cluster = cluster})); }
    /// All that was counted so far was so many epochs before.
    void pass(std::uint64_t epochs) {
        auto active = queue.read<olaf_active>("olaf_active");
        active.epoch_start_ns -= epochs * window;
        queue.set_active(active);
        for (std::uint32_t cluster = 0; cluster < queue.config().max_clusters; cluster++)
            if (const auto epoch = queue.read<std::uint64_t>("olaf_active_epochs", cluster))
                queue.write("olaf_active_epochs", cluster, epoch - epochs * window);
    }
};

TEST_F(Epochs, WhoGoesOnIsActiveOnceAndWhoPausedNoMore) {
    hear(1);
    hear(2);
    pass(1);
    hear(1);
    EXPECT_EQ(queue.active_clusters(monotonic_ns()), 2u);
    pass(2);
    hear(5);
    EXPECT_EQ(queue.active_clusters(monotonic_ns()), 1u);
}

class Emptying : public QueueTest {
  protected:
    void drain_until(std::uint64_t until_ns) {
        queue.order({.emptying_until_ns = until_ns, .held_until_ns = 0, .figures_from_ns = 0});
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
} // namespace olaf::test::age_test
