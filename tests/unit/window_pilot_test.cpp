// SPDX-License-Identifier: BSD-2-Clause
// `--window auto` against the best fixed size, in simulated time: what it reaches, how much it
// lets queue for that, and how it follows a path that changes.
#include <string>

#include <gtest/gtest.h>

#include "closed_loop.hpp"

namespace olaf::test::window_pilot_test {
namespace {

constexpr double ms = 1e6, us = 1e3;

/// The smallest size from which on no other gives 2 % more.
ClosedLoop::Figures best_fixed(const Path &path, double seconds) {
    ClosedLoop::Figures best;
    for (std::uint32_t size = 1; size <= 512; size += 1 + size / 8) {
        ClosedLoop loop(path);
        loop.fixed = size;
        const auto figures = loop.run(seconds);
        if (figures.throughput > 1.02 * best.throughput)
            best = figures;
    }
    return best;
}

struct Case {
    const char *name;
    Path path;
    double seconds; ///< to settle, and as long again to measure
};

class Paths : public testing::TestWithParam<Case> {};

TEST_P(Paths, AreKeptAsBusyAsByTheBestFixedSize) {
    const auto &[name, path, seconds] = GetParam();
    const auto best = best_fixed(path, 2 * seconds);
    ClosedLoop loop(path);
    const auto found = loop.run(2 * seconds);
    EXPECT_GE(found.throughput, 0.95 * best.throughput);
    // A step up on trial, and rounds that aren't whole numbers of the pipe.
    EXPECT_LE(found.in_flight, 1.35 * best.in_flight + 2);
    std::printf("%s: best fixed %.0f/s with %.1f in flight; auto %.0f/s with %.1f\n", name,
                best.throughput, best.in_flight, found.throughput, found.in_flight);
}

INSTANTIATE_TEST_SUITE_P(
    Pilot, Paths,
    testing::Values(Case{"slow_server", {.delay_ns = 50 * us, .service_ns = 10 * ms}, 10},
                    Case{"slow_uneven_server", {50 * us, 10 * ms, 0.3}, 20},
                    Case{"fast_server", {.delay_ns = 50 * us, .service_ns = 5 * us}, 2},
                    Case{"as_fast_as_the_path", {.delay_ns = 1 * ms, .service_ns = 1 * ms}, 5},
                    Case{"twice_as_far_as_slow", {.delay_ns = 2 * ms, .service_ns = 2 * ms}, 10},
                    Case{"wide_path", {.delay_ns = 20 * ms, .service_ns = 1 * ms}, 10},
                    Case{"wide_uneven_path", {20 * ms, 1 * ms, 0.3}, 20},
                    Case{"long_path", {.delay_ns = 100 * ms, .service_ns = 1 * ms}, 30},
                    Case{"long_fast_path", {.delay_ns = 5 * ms, .service_ns = 20 * us}, 10}),
    [](const auto &info) { return std::string(info.param.name); });

TEST(Pilot, FollowsAPathThatGrowsLongerAndShorter) {
    ClosedLoop loop({.delay_ns = 5 * ms, .service_ns = 1 * ms});
    loop.run(10);
    EXPECT_NEAR(loop.pilot.base.size, 6, 2);
    loop.path.delay_ns = 40 * ms;
    loop.run(30);
    EXPECT_NEAR(loop.pilot.base.size, 41, 10);
    loop.path.delay_ns = 5 * ms;
    loop.run(30);
    EXPECT_NEAR(loop.pilot.base.size, 6, 2);
}

TEST(Pilot, FollowsAServerThatSlowsDown) {
    ClosedLoop loop({.delay_ns = 20 * ms, .service_ns = 1 * ms});
    loop.run(10);
    EXPECT_NEAR(loop.pilot.base.size, 21, 5);
    loop.path.service_ns = 10 * ms;
    loop.run(60);
    EXPECT_LE(loop.pilot.base.size, 5u);
    EXPECT_NEAR(loop.run(20).throughput, 100, 5);
}

TEST(Pilot, LearnsNothingWhileNothingWaits) {
    ClosedLoop loop({.delay_ns = 5 * ms, .service_ns = 1 * ms});
    loop.waits = false;
    loop.run(10);
    EXPECT_EQ(loop.size(), static_cast<std::uint32_t>(OLAF_PILOT_FIRST));
}

TEST(Pilot, KeepsToItsMost) {
    ClosedLoop loop({.delay_ns = 50 * ms, .service_ns = 1 * ms}, 7);
    for (int i = 0; i < 200; i++) {
        loop.run(0.05);
        EXPECT_GE(loop.size(), 1u);
        EXPECT_LE(loop.size(), 7u);
    }
    EXPECT_EQ(loop.pilot.base.size, 7u);
}

TEST(Pilot, AWindowOfOneStaysOne) {
    ClosedLoop loop({.delay_ns = 1 * ms, .service_ns = 1 * ms}, 1);
    loop.run(5);
    EXPECT_EQ(loop.size(), 1u);
}

struct Payment {
    std::uint32_t small, large;  // sizes
    std::uint32_t first, second; // ACKs in a second
    std::uint32_t least;
    bool pays;
};

TEST(Pilot, ALargerWindowPaysByTheTable) {
    for (const auto &row : {Payment{1, 2, 100, 200, 0, true}, Payment{1, 2, 100, 100, 0, false},
                            Payment{1, 2, 100, 108, 0, false}, // 100 % more for 8 %
                            Payment{1, 2, 100, 109, 0, true},
                            Payment{8, 9, 1000, 1010, 0, false}, // 12.5 % for 1.0 %
                            Payment{8, 9, 1000, 1011, 0, true},
                            Payment{8, 9, 1000, 1011, 32, false}, // may be chance
                            Payment{8, 9, 1000, 1032, 32, true},
                            Payment{512, 1024, 1000, 900, 0, false}}) {
        const olaf_trial small{row.small, row.first, 1'000'000'000};
        const olaf_trial large{row.large, row.second, 1'000'000'000};
        EXPECT_EQ(olaf_pilot_pays(&small, &large, row.least) != 0, row.pays)
            << row.small << " to " << row.large << ", " << row.first << " to " << row.second;
    }
    // The largest figures there can be don't overflow.
    const olaf_trial small{1023, 1u << 17, 120'000'000'000}, large{1024, 1u << 17, 60'000'000'000};
    EXPECT_TRUE(olaf_pilot_pays(&small, &large, 0));
    EXPECT_FALSE(olaf_pilot_pays(&large, &small, 0));
}

} // namespace
} // namespace olaf::test::window_pilot_test
