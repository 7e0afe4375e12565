// SPDX-License-Identifier: BSD-2-Clause
// Sawtooths computed by hand: `delivered` / `generated` on the time axis, in ns.
#include <gtest/gtest.h>

#include <limits>

#include <olaf/aom_meter.hpp>
#include <olaf/model_age.hpp>

namespace olaf::test::aom_meter_test {
namespace {

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

TEST(AomMeter, IntegratesTheSawtooth) {
    AomMeter meter;
    EXPECT_EQ(meter.deliver(100, 90), 10);  // starts at age 10
    EXPECT_EQ(meter.deliver(140, 120), 20); // grew to 50, falls to 20
    EXPECT_EQ(meter.deliver(150, 145), 5);  // grew to 30, falls to 5
    EXPECT_EQ(meter.last_peak_ns(), 30);
    EXPECT_EQ(meter.highest_peak_ns(), 50);
    EXPECT_EQ(meter.mean_peak_ns(), 40.0);
    EXPECT_EQ(meter.age_ns(160), 15);
    // Areas: 40 · (10 + 50) / 2 = 1200, 10 · (20 + 30) / 2 = 250, 10 · (5 + 15) / 2 = 100.
    EXPECT_DOUBLE_EQ(meter.average_ns(150), 1450.0 / 50);
    EXPECT_DOUBLE_EQ(meter.average_ns(160), 1550.0 / 60);
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
} // namespace olaf::test::aom_meter_test
