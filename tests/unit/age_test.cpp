// SPDX-License-Identifier: BSD-2-Clause
// The Age-of-Model meters of the queue and of libolaf, and figures that start anew.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include <olaf/aom_meter.hpp>
#include <olaf/model_age.hpp>

#include "bpf/age/sawtooth.bpf.h"
#include "loader/datapath/aom.hpp"
#include "loader/datapath/spells.hpp"
#include "loader/datapath/start.hpp"

namespace olaf::test::age_test {
namespace {

// The Age-of-Model meter, and figures that start anew.

// Departures, metered by the kernel's own functions.

inline constexpr std::uint64_t second = 1'000'000'000, year = 31'557'600 * second;
inline constexpr std::int64_t tai_ahead = 1'790'000'000ll * 1'000'000'000;

inline Wide wide(const olaf_u128 &value) {
    return Wide{value.high} << 64 | value.low;
}

/// A departure at `now` of an update that arrived then; `generated` on the monotonic clock.
inline void depart(olaf_aom &aom, std::uint64_t now, std::uint64_t arrived, std::int64_t generated,
                   std::uint32_t count = 1, std::uint32_t version = 0) {
    const olaf_metered update{.first_arrived_ns = arrived,
                              .arrived_ns = arrived,
                              .generated_ns = static_cast<std::uint64_t>(generated + tai_ahead),
                              .count = count,
                              .model_version = version};
    aom.begun++;
    if (olaf_age_turns(&aom, now))
        olaf_age_turn(&aom, now);
    olaf_meter(&aom, &update, now, tai_ahead);
    aom.ended++;
}

// The meter's arithmetic: the kernel's own functions, against 128-bit integers, against
// libolaf's meter, and by hand.

TEST(U128, ProductsAddUpExactly) {
    std::mt19937_64 random(1);
    olaf_u128 sum{};
    Wide expected = 0;
    for (int i = 0; i < 100'000; i++) {
        const std::uint64_t a = random() >> random() % 64, b = random() >> random() % 64;
        olaf_u128_add_product(&sum, a, b);
        expected += Wide{a} * b;
        ASSERT_TRUE(wide(sum) == expected) << a << " x " << b;
    }
    constexpr auto most = std::numeric_limits<std::uint64_t>::max();
    for (const std::uint64_t a : {std::uint64_t{0}, std::uint64_t{1}, most >> 32, most})
        for (const std::uint64_t b : {std::uint64_t{0}, std::uint64_t{1}, most >> 32, most}) {
            olaf_u128 product{};
            olaf_u128_add_product(&product, a, b);
            EXPECT_TRUE(wide(product) == Wide{a} * b) << a << " x " << b;
        }
}

TEST(Buckets, ArePowersOfTwo) {
    for (const std::uint32_t buckets : {16u, 48u, 64u}) {
        EXPECT_EQ(olaf_bucket(0, buckets), 0u);
        for (std::uint32_t i = 0; i < 64; i++) {
            const std::uint64_t low = std::uint64_t{1} << i;
            EXPECT_EQ(olaf_bucket(low, buckets), std::min(i, buckets - 1));
            EXPECT_EQ(olaf_bucket(low + (low - 1), buckets), std::min(i, buckets - 1));
        }
    }
}

TEST(Sawtooth, FallsToTheAgeOfWhatDeparts) {
    olaf_aom aom{};
    depart(aom, 30, 10, 10); // age 20
    depart(aom, 50, 40, 40); // grew to 40, falls to 10
    depart(aom, 90, 60, 60); // grew to 50, falls to 30
    EXPECT_EQ(aom.arrival.peaks, 2u);
    EXPECT_EQ(wide(aom.arrival.peak_sum), Wide{40 + 50});
    EXPECT_EQ(aom.arrival.highest_peak_ns, 50u);
    EXPECT_EQ(aom.arrival.last_age_ns, 30u);
    // 20 ns from 20 to 40, 40 ns from 10 to 50: 600 + 1,200
    EXPECT_EQ(wide(aom.arrival.twice_area), Wide{2 * 1800});
    EXPECT_EQ(aom.first_ns, 30u);
    EXPECT_EQ(aom.last_ns, 90u);
    EXPECT_EQ(wide(aom.wait_sum), Wide{20 + 10 + 30});
    EXPECT_EQ(wide(aom.arrival_age_sum), Wide{20 + 10 + 30});
    EXPECT_EQ(aom.wait_max_ns, 30u);

    ClusterAom cluster;
    add_segment(cluster, aom, 100); // 10 ns more, from 30 to 40
    EXPECT_EQ(cluster.arrival.age_ns, 40u);
    EXPECT_DOUBLE_EQ(cluster.arrival.average_ns(), (1800 + 350) / 70.0);
    EXPECT_DOUBLE_EQ(cluster.arrival.mean_peak_ns(), 45);
    EXPECT_DOUBLE_EQ(cluster.mean_wait_ns(), 20);
}

TEST(Sawtooth, AStaleUpdateLeavesItAsItIs) {
    olaf_aom aom{};
    depart(aom, 100, 100, 90);
    depart(aom, 200, 200, 80); // older than the newest
    depart(aom, 300, 300, 90); // as old as it
    EXPECT_EQ(aom.generated.peaks, 0u);
    EXPECT_EQ(aom.generated.newest_ns, 90);
    EXPECT_EQ(aom.generated.last_age_ns, 210u);
    // from 10 to 210, once
    EXPECT_EQ(wide(aom.generated.twice_area), Wide{210 * 210 - 10 * 10});
    EXPECT_EQ(aom.arrival.peaks, 2u);
    ClusterAom cluster;
    add_segment(cluster, aom, 300);
    EXPECT_EQ(cluster.stale(), 2u);
}

TEST(Sawtooth, AnUpdateOfTheFutureIsGeneratedWhenItDeparts) {
    olaf_aom aom{};
    depart(aom, 100, 100, 100);
    depart(aom, 200, 200, 201);
    EXPECT_EQ(aom.from_future, 1u);
    EXPECT_EQ(aom.generated.newest_ns, 200);
    EXPECT_EQ(aom.generated.last_age_ns, 0u);
    depart(aom, 300, 300, std::numeric_limits<std::int64_t>::max() - tai_ahead);
    EXPECT_EQ(aom.from_future, 2u);
    EXPECT_EQ(aom.generated.last_age_ns, 0u);
}

TEST(Sawtooth, CpusMayBeALittleOutOfOrder) {
    olaf_aom aom{};
    depart(aom, 100, 90, 90);
    depart(aom, 95, 96, 50); // both clocks were read on other CPUs, and it is stale
    EXPECT_EQ(aom.last_ns, 100u);
    EXPECT_EQ(aom.arrival.newest_ns, 96);
    EXPECT_EQ(wide(aom.arrival.twice_area), Wide{0});
    depart(aom, 110, 120, 100); // arrived after it departs
    EXPECT_EQ(aom.arrival.last_age_ns, 0u);
    EXPECT_EQ(aom.arrival.newest_ns, 110);
}

TEST(Sawtooth, VersionsAreInSerialOrder) {
    olaf_aom aom{};
    const std::uint32_t versions[] = {0xfffffffe, 0xffffffff, 1, 0xffffffff, 2};
    std::uint64_t now = 0;
    for (const auto version : versions) {
        now++;
        depart(aom, now, now, 0, 1, version);
    }
    EXPECT_EQ(aom.version_newest, 2u);
    EXPECT_EQ(aom.version_lag, 0u);
    EXPECT_EQ(aom.version_lag_max, 2u);
    EXPECT_EQ(wide(aom.version_lag_sum), Wide{2});
}

// Late ones in between, and more of them than a run takes, are of the same run.
TEST(Sawtooth, LateVersionsCountOnceANewerOneComes) {
    olaf_aom aom{};
    std::uint64_t now = 0, lags = 0;
    const auto version = [&](std::uint32_t version) {
        now++;
        depart(aom, now, now, 0, 1, version);
    };
    version(1000);
    for (std::uint32_t i = 0; i < 100; i++) {
        version(i % 2 == 0 ? 900 : 700); // two workers that hear nothing
        lags += i % 2 == 0 ? 100 : 300;
    }
    EXPECT_EQ(aom.version_newest, 1000u);
    EXPECT_EQ(aom.version_lag, 300u);
    ClusterAom cluster;
    add_segment(cluster, aom, now);
    EXPECT_EQ(cluster.version_lag_max, 300u) << "what isn't decided is shown";
    EXPECT_EQ(cluster.version_lag_sum, Wide{lags});
    version(1000);
    EXPECT_EQ(aom.version_lag_max, 300u);
    EXPECT_EQ(wide(aom.version_lag_sum), Wide{lags});
}

// docs/aom.md: a server that is started again counts from the beginning, or from a checkpoint.
TEST(Sawtooth, AServersNewRunHasVersionsOfItsOwn) {
    for (const std::uint32_t begin : {1u, 2000u, 0xfffffff0u}) {
        SCOPED_TRACE(begin);
        olaf_aom aom{};
        std::uint64_t now = 0;
        const auto version = [&](std::uint32_t version) {
            now++;
            depart(aom, now, now, 0, 1, version);
        };
        version(2404);
        version(2402); // late, and of the old run
        version(2405);
        for (std::uint32_t i = 0; i < 100; i++) {
            version(begin + i);
            version(begin + i);
        }
        EXPECT_EQ(aom.version_newest, begin + 99);
        EXPECT_EQ(aom.version_lag, 0u);
        version(begin + 98);
        version(begin + 100);
        EXPECT_EQ(aom.version_lag_max, 2u);
        EXPECT_EQ(wide(aom.version_lag_sum), Wide{2 + 1});
    }
}

/// Ages of a year, before boot and after it: nothing overflows, nothing is rounded.
TEST(Sawtooth, HoldsAYear) {
    olaf_aom aom{};
    depart(aom, 1, 1, -static_cast<std::int64_t>(year));
    depart(aom, year, 1, -static_cast<std::int64_t>(year) + 1);
    EXPECT_EQ(wide(aom.generated.twice_area),
              Wide{2 * year} * (2 * year) - Wide{year + 1} * (year + 1));
    EXPECT_EQ(aom.generated.highest_peak_ns, 2 * year);

    // The sums of a year at ten million a second with ages of minutes lie far below the top.
    aom.generated.twice_area.high = std::uint64_t{1} << 60;
    aom.generated.peak_sum = {.low = ~std::uint64_t{0}, .high = 5};
    aom.wait_sum = {.low = ~std::uint64_t{0}, .high = 5};
    depart(aom, year + second, year, 0);
    EXPECT_EQ(wide(aom.generated.peak_sum) - (Wide{6} << 64), Wide{2 * year + second - 2});
    EXPECT_EQ(wide(aom.wait_sum) - (Wide{6} << 64), Wide{second - 1});
    EXPECT_GE(aom.generated.twice_area.high, std::uint64_t{1} << 60);
}

/// The server's meter says the same of the same deliveries.
TEST(Sawtooth, AgreesWithTheServersMeter) {
    std::mt19937_64 random(2);
    olaf_aom aom{};
    AomMeter meter;
    std::uint64_t now = 1'000 * second;
    for (int i = 0; i < 200'000; i++) {
        now += random() % (i % 100 == 0 ? 10 * second : second / 1000);
        // Some older than the newest, some of the future.
        const auto generated = static_cast<std::int64_t>(now - random() % (second / 100)) +
                               (i % 50 == 0 ? static_cast<std::int64_t>(second / 100) : 0);
        depart(aom, now, now, generated);
        meter.deliver(static_cast<std::int64_t>(now), generated);
    }
    ClusterAom cluster;
    add_segment(cluster, aom, now + second);
    const auto end = static_cast<std::int64_t>(now + second);
    EXPECT_DOUBLE_EQ(cluster.generated.average_ns(), meter.average_ns(end));
    EXPECT_EQ(cluster.generated.age_ns, static_cast<std::uint64_t>(meter.age_ns(end)));
    EXPECT_EQ(cluster.generated.peaks, meter.peaks());
    EXPECT_DOUBLE_EQ(cluster.generated.mean_peak_ns(), meter.mean_peak_ns());
    EXPECT_EQ(cluster.generated.highest_peak_ns,
              static_cast<std::uint64_t>(meter.highest_peak_ns()));
    EXPECT_EQ(cluster.stale(), meter.stale());
    EXPECT_EQ(cluster.from_future, meter.from_future());
    EXPECT_GT(meter.stale(), 1000u);
    EXPECT_GT(meter.from_future(), 100u);
}

TEST(Reading, SegmentsAreOnAverageAsOldAsTheModel) {
    olaf_aom one{}, two{};
    depart(one, 100, 90, 90);
    depart(one, 200, 190, 190);
    depart(two, 150, 50, 50);
    ClusterAom cluster;
    add_segment(cluster, one, 250);
    add_segment(cluster, two, 250);
    add_segment(cluster, olaf_aom{}, 250); // of which nothing has departed
    EXPECT_EQ(cluster.segments, 2u);
    EXPECT_EQ(cluster.departures, 3u);
    EXPECT_EQ(cluster.first_ns, 100u);
    EXPECT_EQ(cluster.last_ns, 200u);
    // 10 to 110, 10 to 60; 100 to 200: areas 6,000 + 1,750 + 15,000 over 150 + 100
    EXPECT_DOUBLE_EQ(cluster.arrival.average_ns(), 22'750 / 250.0);
    EXPECT_EQ(cluster.arrival.time_ns, 250u);
}

TEST(Reading, FairnessIsJains) {
    AomReading reading;
    EXPECT_EQ(aom_fairness(reading, &ClusterAom::arrival), 1.0);
    for (const std::uint64_t average : {100u, 300u}) {
        auto &cluster = reading.clusters.emplace_back();
        cluster.arrival.time_ns = 10;
        cluster.arrival.twice_area = 2 * 10 * average;
    }
    // 200² / (200² + 100²)
    EXPECT_DOUBLE_EQ(aom_fairness(reading, &ClusterAom::arrival), 0.8);
}

// Ages of the last minute, from what the kernel keeps of it.

/// What recent_age() should say: the same departures, summed from that moment on.
struct Expected {
    Wide twice_area = 0;
    std::uint64_t highest_ns = 0;
};
Expected expected(const std::vector<std::pair<std::uint64_t, std::int64_t>> &departures,
                  std::uint64_t from, std::uint64_t now) {
    Expected result;
    std::int64_t newest = departures.front().second;
    std::uint64_t last = departures.front().first;
    const auto age = [&](std::uint64_t at) {
        return Wide(at - static_cast<std::uint64_t>(newest));
    };
    const auto grow = [&](std::uint64_t to) {
        const auto begin = std::max(last, from);
        if (to > begin)
            result.twice_area += age(to) * age(to) - age(begin) * age(begin);
        last = to;
    };
    for (const auto &[at, generated] : departures) {
        grow(at);
        if (generated <= newest)
            continue;
        // A peak counts from the second that the interval began in.
        if (at >> OLAF_AGE_SECOND_SHIFT >= from >> OLAF_AGE_SECOND_SHIFT)
            result.highest_ns = std::max(result.highest_ns, static_cast<std::uint64_t>(age(at)));
        newest = generated;
    }
    grow(now);
    result.highest_ns = std::max(result.highest_ns, static_cast<std::uint64_t>(age(now)));
    return result;
}

/// At whatever pace departures come, and however long they pause.
TEST(Recent, TheLastMinuteIsWhatWasDepartedInIt) {
    std::mt19937_64 random(3);
    for (int run = 0; run < 300; run++) {
        std::vector<std::pair<std::uint64_t, std::int64_t>> departures;
        olaf_aom aom{};
        std::uint64_t now = 500 * second + random() % (100 * second);
        const auto pace = second / (1 + random() % 200);
        for (int i = 0; i < 2000; i++) {
            now += random() % (random() % 500 == 0 ? 40 * second : pace);
            const auto generated = static_cast<std::int64_t>(now - random() % second);
            departures.emplace_back(now, generated);
            depart(aom, now, now, generated);
        }
        now += random() % (20 * second);
        const auto from = now - minute_ns;
        const auto age = recent_age(aom, generated_members, from, now);
        const auto asked = std::min<std::uint64_t>(minute_ns, now - aom.first_ns);
        EXPECT_LE(age.time_ns, asked);
        EXPECT_GE(age.time_ns + (std::uint64_t{1} << OLAF_AGE_MARK_SHIFT), asked);
        const auto right = expected(departures, now - age.time_ns, now);
        EXPECT_EQ(age.twice_area, right.twice_area);
        EXPECT_EQ(age.highest_ns, right.highest_ns);
        EXPECT_LE(age.average_ns(), static_cast<double>(age.highest_ns));
    }
}

TEST(Recent, APauseIsNotForgotten) {
    olaf_aom aom{};
    depart(aom, 1000 * second, 1000 * second, 1000 * second);
    depart(aom, 1050 * second, 1050 * second, 1050 * second);
    ClusterAom cluster;
    add_segment(cluster, aom, 1070 * second);
    EXPECT_FALSE(cluster.idle);
    // From 1,010 on it grew from 10 s to 50, then from 0 to 20.
    EXPECT_EQ(cluster.arrival.minute.time_ns, 60 * second);
    EXPECT_EQ(cluster.arrival.minute.twice_area, Wide{50 * second} * (50 * second) -
                                                     Wide{10 * second} * (10 * second) +
                                                     Wide{20 * second} * (20 * second));
    EXPECT_EQ(cluster.arrival.minute.highest_ns, 50 * second);
    EXPECT_EQ(cluster.arrival.highest_ns(1052 * second, 1070 * second), 20 * second);
    ClusterAom later;
    add_segment(later, aom, 1111 * second);
    EXPECT_TRUE(later.idle);
}

TEST(Recent, AMeterThatForgetsBeginsWithItsNextDeparture) {
    olaf_aom aom{};
    for (std::uint64_t i = 0; i < 100; i++)
        depart(aom, (1000 + i) * second, (1000 + i) * second,
               static_cast<std::int64_t>(i * second));
    olaf_age_forget(&aom);
    ClusterAom nothing;
    add_segment(nothing, aom, 1100 * second);
    EXPECT_EQ(nothing.segments, 0u);
    depart(aom, 1200 * second, 1190 * second, 1190 * second);
    depart(aom, 1201 * second, 1201 * second, 1201 * second);
    olaf_aom fresh{};
    depart(fresh, 1200 * second, 1190 * second, 1190 * second);
    depart(fresh, 1201 * second, 1201 * second, 1201 * second);
    fresh.begun = fresh.ended = aom.ended;
    fresh.forgotten = 100;
    EXPECT_EQ(std::memcmp(&aom, &fresh, sizeof aom), 0);
}

// Figures that start anew: whatever moment the counters were read at, the identities hold of what
// is left of them.

constexpr std::uint32_t clusters = 5;

/// A queue in which updates come and go at random, with all that counts them.
class Queue {
  public:
    void live(unsigned steps) {
        for (unsigned i = 0; i < steps; i++)
            step(random_() % clusters);
    }

    Snapshot now;

  private:
    void step(std::size_t id) {
        auto &slot = now.clusters[id];
        auto &counters = now.counters;
        const auto count = 1 + random_() % 3;
        if (now.waiting[id] != 0 && random_() % 3 == 0) {
            (random_() % 2 ? slot.departed_drain : slot.departed_riding)++;
            slot.updates_departed += held_[id];
            now.levels.queue_length--;
            now.levels.updates_waiting -= held_[id];
            now.waiting[id] = 0;
            held_[id] = 0;
            return;
        }
        counters.received++;
        counters.updates_in += count;
        switch (random_() % 5) {
        case 0:
            slot.passed_through++;
            slot.updates_passed += count;
            return;
        case 1:
            counters.dropped_contended++;
            counters.updates_contended += count;
            return;
        case 2:
            slot.dropped_reward++;
            slot.updates_dropped += count;
            return;
        default:
            break;
        }
        if (now.waiting[id] != 0) {
            slot.aggregated++;
        } else {
            slot.appended++;
            now.waiting[id] = 1;
            now.levels.queue_length++;
        }
        held_[id] += count;
        now.levels.updates_waiting += count;
    }

    std::mt19937 random_{7};
    std::uint64_t held_[clusters] = {};

  public:
    Queue() {
        now.clusters.resize(clusters);
        now.waiting.resize(clusters);
    }
};

void expect_identities(Snapshot snapshot) {
    snapshot.slots = {};
    for (const auto &cluster : snapshot.clusters)
        snapshot.slots += cluster;
    const Numbers numbers{.slots = &snapshot.slots,
                          .cpus = &snapshot.counters,
                          .acks = &snapshot.acks,
                          .window = nullptr,
                          .losses = nullptr,
                          .levels = &snapshot.levels};
    for (const auto identity :
         {OLAF_IDENTITY_ARRIVALS, OLAF_IDENTITY_PLACES, OLAF_IDENTITY_UPDATES}) {
        const auto [left, right] = identity_sides(identity, numbers);
        EXPECT_EQ(left, right) << identity;
    }
}

TEST(Start, IdentitiesHoldOfWhatCameAfterIt) {
    Queue queue;
    queue.live(10'000);
    expect_identities(queue.now);
    const auto start = start_of(queue.now, {}, 1);
    auto at_once = queue.now;
    subtract(at_once, start);
    expect_identities(at_once);
    EXPECT_EQ(at_once.counters.received, queue.now.levels.queue_length);
    EXPECT_EQ(at_once.counters.updates_in, queue.now.levels.updates_waiting);
    queue.live(10'000);
    auto later = queue.now;
    subtract(later, start);
    expect_identities(later);
    EXPECT_LT(later.counters.received, 10'000u);
    EXPECT_GT(later.counters.received, 6'000u);
}

/// A command can't stop the world while it reads.
TEST(Start, MayBeReadWhileUpdatesComeAndGo) {
    Queue queue;
    queue.live(5'000);
    auto torn = queue.now;
    for (std::uint32_t id = 0; id < clusters; id++) {
        queue.live(50);
        torn.clusters[id] = queue.now.clusters[id];
    }
    const auto start = start_of(torn, {}, 1);
    queue.live(5'000);
    auto later = queue.now;
    subtract(later, start);
    expect_identities(later);
}

TEST(Start, IsKeptAsWords) {
    Queue queue;
    queue.live(1'000);
    queue.now.window.emplace().acked = 12;
    olaf_losses losses{};
    losses.frames[OLAF_LOST_DEVICE] = 7;
    const auto start = start_of(queue.now, losses, 99);
    const auto words = words_of(start);
    EXPECT_EQ(words.size(), start_words(clusters));
    const auto again = start_from(words, clusters);
    ASSERT_TRUE(again);
    EXPECT_EQ(words_of(*again), words);
    EXPECT_EQ(again->at_ns, 99u);
    EXPECT_EQ(again->window.acked, 12u);
    EXPECT_EQ(again->losses.frames[OLAF_LOST_DEVICE], 7u);
    EXPECT_FALSE(start_from(words, clusters + 1));
}

// Spells of trouble: those of all CPUs joined, and what a reset leaves of them.

/// What a CPU keeps of a spell between these seconds.
constexpr olaf_spell noted(std::uint64_t began, std::uint64_t last) {
    return {.last_ns = last * second, .began_ns = began * second};
}

TEST(Spells, OfAllCpusAreJoinedToTheLastOne) {
    EXPECT_FALSE(joined({}));
    EXPECT_FALSE(joined(std::array<olaf_spell, 4>{}));
    const struct {
        const char *says;
        std::vector<olaf_spell> cpus;
        std::uint64_t began, last;
    } rows[] = {
        {"one CPU's is what it noted", {{}, noted(20, 30), {}}, 20, 30},
        {"those that overlap are one", {noted(20, 30), noted(15, 25)}, 15, 30},
        {"and those within another", {noted(22, 25), noted(20, 30)}, 20, 30},
        {"what follows within the gap is one", {noted(40, 50), noted(20, 30)}, 20, 50},
        {"what follows later is the last", {noted(41, 50), noted(20, 30)}, 41, 50},
        {"a third may join two", {noted(60, 70), noted(20, 30), noted(38, 52)}, 20, 70},
        {"in whatever order", {noted(38, 52), noted(60, 70), noted(20, 30)}, 20, 70},
        // Between both writes of a new spell the end is still the old one's.
        {"what is read halfway has just begun", {noted(50, 30)}, 50, 50},
    };
    for (const auto &[says, cpus, began, last] : rows) {
        const auto spell = joined(cpus);
        ASSERT_TRUE(spell) << says;
        EXPECT_EQ(spell->began_ns, began * second) << says;
        EXPECT_EQ(spell->last_ns, last * second) << says;
    }
}

TEST(Spells, GoOnUntilTheGapIsOver) {
    const Spell spell{20 * second, 30 * second};
    EXPECT_TRUE(spell.goes_on(30 * second + OLAF_SPELL_GAP_NS));
    EXPECT_FALSE(spell.goes_on(30 * second + OLAF_SPELL_GAP_NS + 1));
}

TEST(Spells, FromBeforeAResetAreForgottenAndOneThatGoesOnBeginsThere) {
    Spells spells{};
    spells[OLAF_TROUBLE_MALFORMED] = Spell{20 * second, 30 * second};
    spells[OLAF_TROUBLE_LOST] = Spell{20 * second, 40 * second};
    spells[OLAF_TROUBLE_UNFIT] = Spell{36 * second, 37 * second};
    const auto since = spells_since(spells, 35 * second);
    EXPECT_FALSE(since[OLAF_TROUBLE_MALFORMED]);
    ASSERT_TRUE(since[OLAF_TROUBLE_LOST]);
    EXPECT_EQ(since[OLAF_TROUBLE_LOST]->began_ns, 35 * second);
    EXPECT_EQ(since[OLAF_TROUBLE_LOST]->last_ns, 40 * second);
    ASSERT_TRUE(since[OLAF_TROUBLE_UNFIT]);
    EXPECT_EQ(since[OLAF_TROUBLE_UNFIT]->began_ns, 36 * second);
    EXPECT_FALSE(since[OLAF_TROUBLE_DROPPED]);
}

// Sawtooths computed by hand: `delivered` / `generated` on the time axis, in ns.

TEST(AomMeter, HasNoAgeBeforeTheFirstDelivery) {
    AomMeter meter;
    EXPECT_FALSE(meter.started());
    EXPECT_EQ(meter.age_ns(1000), 0);
    EXPECT_EQ(meter.average_ns(1000), 0.0);
    EXPECT_EQ(meter.deliver(1000, 990), 10);
    EXPECT_TRUE(meter.started());
    EXPECT_EQ(meter.average_ns(1000), 0.0) << "no time has passed";
    EXPECT_EQ(meter.peaks(), 0U) << "there was nothing to fall from";
}

TEST(AomMeter, AnOlderUpdateLeavesTheSawtoothAlone) {
    AomMeter meter;
    meter.deliver(100, 90);
    EXPECT_EQ(meter.deliver(110, 50), 20) << "still that of the one generated at 90";
    EXPECT_EQ(meter.deliver(120, 90), 30) << "no newer either";
    EXPECT_EQ(meter.stale(), 2U);
    EXPECT_EQ(meter.peaks(), 0U);
    EXPECT_DOUBLE_EQ(meter.average_ns(120), 20.0); // straight from 10 to 30
}

TEST(AomMeter, ClocksMayDisagree) {
    AomMeter meter;
    meter.deliver(100, 90);
    EXPECT_EQ(meter.deliver(110, 500), 0) << "from the future: as if generated now";
    EXPECT_EQ(meter.from_future(), 1U);
    EXPECT_EQ(meter.age_ns(120), 10);
    EXPECT_EQ(meter.deliver(105, 104), 0) << "time doesn't go back";
    EXPECT_EQ(meter.stale(), 1U);
    EXPECT_EQ(meter.age_ns(0), 0);
}

TEST(AomMeter, StaysExactAtRealTimes) {
    constexpr std::int64_t now = 1'800'000'000'000'000'000; // CLOCK_TAI in 2027
    AomMeter meter;
    for (std::int64_t second = 0; second <= 100'000; second++) // a day of 1 s teeth
        meter.deliver(now + second * 1'000'000'000, now + second * 1'000'000'000 - 1);
    EXPECT_DOUBLE_EQ(meter.average_ns(0), 500'000'001.0);
    EXPECT_EQ(meter.highest_peak_ns(), 1'000'000'001);
}

TEST(AomMeter, NonsenseFromTheNetworkDoesNotOverflow) {
    AomMeter meter;
    EXPECT_EQ(meter.deliver(1000, std::numeric_limits<std::int64_t>::min()), 1000);
    EXPECT_EQ(meter.deliver(1100, std::numeric_limits<std::int64_t>::max()), 0);
}

TEST(ModelAge, IsThatOfTheOldestSegment) {
    ModelAge age;
    EXPECT_EQ(age.deliver(100, 90, 0, 2), 0) << "the other half is missing";
    EXPECT_FALSE(age.meter().started());
    EXPECT_EQ(age.deliver(110, 80, 1, 2), 30);
    EXPECT_EQ(age.deliver(120, 115, 0, 2), 40) << "segment 1 is of 80 still";
    EXPECT_EQ(age.deliver(130, 125, 1, 2), 15) << "now segment 0, of 115, is the oldest";
    EXPECT_EQ(age.meter().last_peak_ns(), 50);
    EXPECT_EQ(age.deliver(140, 10, 1, 2), 25) << "late, changes nothing";
    EXPECT_EQ(age.meter().peaks(), 1U);
}

TEST(ModelAge, SurvivesAnotherCut) {
    ModelAge age;
    age.deliver(100, 90, 0, 1);
    EXPECT_EQ(age.deliver(110, 105, 0, 2), 20) << "the second half is of 90";
    EXPECT_EQ(age.deliver(120, 110, 1, 2), 15);
    EXPECT_EQ(age.deliver(130, 125, 0, 1), 5);
    EXPECT_EQ(age.deliver(140, 100, 0, 1), 15);
}

} // namespace
} // namespace olaf::test::age_test
