// SPDX-License-Identifier: BSD-2-Clause
// The meter's arithmetic: the kernel's own functions, against 128-bit integers, against
// libolaf's meter, and by hand.
#include <gtest/gtest.h>

#include <olaf/aom_meter.hpp>

#include <limits>
#include <random>

#include "metered.hpp"

namespace olaf::test::sawtooth_test {
namespace {

using namespace olaf::test;
using olaf::Wide;

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

    olaf::ClusterAom cluster;
    olaf::add_segment(cluster, aom, 100); // 10 ns more, from 30 to 40
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
    olaf::ClusterAom cluster;
    olaf::add_segment(cluster, aom, 300);
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
    olaf::AomMeter meter;
    std::uint64_t now = 1'000 * second;
    for (int i = 0; i < 200'000; i++) {
        now += random() % (i % 100 == 0 ? 10 * second : second / 1000);
        // Some older than the newest, some of the future.
        const auto generated = static_cast<std::int64_t>(now - random() % (second / 100)) +
                               (i % 50 == 0 ? static_cast<std::int64_t>(second / 100) : 0);
        depart(aom, now, now, generated);
        meter.deliver(static_cast<std::int64_t>(now), generated);
    }
    olaf::ClusterAom cluster;
    olaf::add_segment(cluster, aom, now + second);
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
    olaf::ClusterAom cluster;
    olaf::add_segment(cluster, one, 250);
    olaf::add_segment(cluster, two, 250);
    olaf::add_segment(cluster, olaf_aom{}, 250); // of which nothing has departed
    EXPECT_EQ(cluster.segments, 2u);
    EXPECT_EQ(cluster.departures, 3u);
    EXPECT_EQ(cluster.first_ns, 100u);
    EXPECT_EQ(cluster.last_ns, 200u);
    // 10 to 110, 10 to 60; 100 to 200: areas 6,000 + 1,750 + 15,000 over 150 + 100
    EXPECT_DOUBLE_EQ(cluster.arrival.average_ns(), 22'750 / 250.0);
    EXPECT_EQ(cluster.arrival.time_ns, 250u);
}

TEST(Reading, FairnessIsJains) {
    olaf::AomReading reading;
    EXPECT_EQ(olaf::aom_fairness(reading, &olaf::ClusterAom::arrival), 1.0);
    for (const std::uint64_t average : {100u, 300u}) {
        auto &cluster = reading.clusters.emplace_back();
        cluster.arrival.time_ns = 10;
        cluster.arrival.twice_area = 2 * 10 * average;
    }
    // 200² / (200² + 100²)
    EXPECT_DOUBLE_EQ(olaf::aom_fairness(reading, &olaf::ClusterAom::arrival), 0.8);
}

} // namespace
} // namespace olaf::test::sawtooth_test
