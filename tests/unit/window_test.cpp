// SPDX-License-Identifier: BSD-2-Clause
// The queue's window.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <queue>
#include <random>
#include <string>
#include <vector>

#include "bpf/order/window_pilot.bpf.h"
#include "bpf/order/window_rtt.bpf.h"

namespace olaf::test::window_test {
namespace {

// A path in simulated time with a window in front of it: something always waits to leave, each
// ACK lets the next departure go, and the pilot sets how many may be under way.

/// A bottleneck that serves one update after another, in the middle of a path.
struct Path {
    double delay_ns = 0;             ///< there and back, without waiting
    double service_ns = 0;           ///< mean
    double spread = 0;               ///< 0: always the mean; 1: exponential
    std::uint32_t room = UINT32_MAX; ///< updates that the bottleneck holds; more are lost
};

class ClosedLoop {
  public:
    explicit ClosedLoop(const Path &path, std::uint32_t most = OLAF_MAX_WINDOW, unsigned seed = 1)
        : path(path), most_(most), random_(seed) {}

    Path path;               ///< may change on the way
    bool waits = true;       ///< something waits to leave, always
    std::uint32_t fixed = 0; ///< 0: the pilot decides

    struct Figures {
        double throughput = 0; ///< ACKs a second
        double in_flight = 0;  ///< mean
        double queue = 0;      ///< of them, waiting at the bottleneck: mean
    };

    /// Runs for so long; the figures are of its last half.
    Figures run(double seconds) {
        const double end = now_ + seconds * 1e9, middle = now_ + seconds * 0.5e9;
        std::uint64_t acked = 0;
        double flight_area = 0, queue_area = 0;
        fill();
        while (!acks_.empty() && acks_.top().at < end) {
            const auto ack = acks_.top();
            acks_.pop();
            if (ack.at > middle) {
                const double step = ack.at - std::max(now_, middle);
                flight_area += step * in_flight_;
                queue_area += step * std::max(0.0, in_flight_ - pipe());
                acked++;
            }
            now_ = ack.at;
            in_flight_--;
            if (!ack.lost)
                olaf_pilot_acked(&pilot, ack.position, next_, static_cast<std::uint64_t>(now_),
                                 waits, most_);
            fill();
        }
        now_ = end;
        const double time = seconds * 0.5e9;
        return {static_cast<double>(acked) / time * 1e9, flight_area / time, queue_area / time};
    }

    /// Updates that the path holds without any waiting.
    [[nodiscard]] double pipe() const { return 1 + path.delay_ns / path.service_ns; }

    [[nodiscard]] std::uint32_t size() const {
        return fixed != 0 ? fixed : olaf_pilot_size(&pilot, most_);
    }

    olaf_pilot pilot{};

  private:
    struct AckEvent {
        double at;
        std::uint64_t position;
        bool lost;
        bool operator>(const AckEvent &other) const { return at > other.at; }
    };

    double service() {
        std::exponential_distribution<double> exponential(1);
        return path.service_ns * (1 - path.spread + path.spread * exponential(random_));
    }

    void fill() {
        while (in_flight_ < size()) {
            in_flight_++;
            const double arrives = now_ + path.delay_ns / 2;
            free_ = std::max(free_, arrives) + service();
            acks_.push({free_ + path.delay_ns / 2, next_++, false});
        }
    }

    std::uint32_t most_;
    std::mt19937 random_;
    double now_ = 1, free_ = 0;
    std::uint32_t in_flight_ = 0;
    std::uint64_t next_ = 0;
    std::priority_queue<AckEvent, std::vector<AckEvent>, std::greater<>> acks_;
};

// How long an ACK is waited for: RFC 6298, and its bounds.

constexpr std::uint64_t us = 1'000, ms = 1000 * us, second = 1000 * ms;

olaf_rtt sampled(std::initializer_list<std::uint64_t> samples) {
    olaf_rtt rtt{};
    for (const auto sample : samples)
        olaf_rtt_sample(&rtt, sample);
    return rtt;
}

TEST(RoundTrip, ASecondIsWaitedBeforeAnythingIsKnown) {
    const olaf_rtt rtt{};
    EXPECT_EQ(olaf_rtt_timeout(&rtt), second);
}

TEST(RoundTrip, TheFirstSampleCountsInFullAndHalfAsVariation) {
    const auto rtt = sampled({40 * ms});
    EXPECT_EQ(rtt.smoothed_ns, 40 * ms + 1);
    EXPECT_EQ(rtt.variation_ns, 20 * ms);
    EXPECT_EQ(olaf_rtt_timeout(&rtt), 120 * ms + 1);
}

TEST(RoundTrip, LaterOnesAreSmoothed) {
    const auto rtt = sampled({80 * ms, 160 * ms});
    EXPECT_NEAR(static_cast<double>(rtt.smoothed_ns), 90e6, 10);
    EXPECT_NEAR(static_cast<double>(rtt.variation_ns), 50e6, 10); // (3 x 40 + 80) / 4
}

TEST(RoundTrip, ASteadyPathKeepsTenMillisecondsOrAQuarterOfItself) {
    for (const auto &[sample, timeout] : {std::pair{50'000ull, 10.05e6}, {400 * ms, 500e6}}) {
        olaf_rtt rtt{};
        for (int i = 0; i < 1000; i++)
            olaf_rtt_sample(&rtt, sample);
        EXPECT_NEAR(static_cast<double>(olaf_rtt_timeout(&rtt)), timeout, 1000);
    }
}

TEST(RoundTrip, NoSampleIsTakenForNone) {
    auto rtt = sampled({0});
    EXPECT_NE(rtt.smoothed_ns, 0u);
    EXPECT_LT(olaf_rtt_timeout(&rtt), 11 * ms);
}

TEST(RoundTrip, SilenceDoublesUpToTwoSeconds) {
    auto rtt = sampled({100 * ms}); // 300 ms
    std::uint64_t last = 0;
    for (rtt.backoff = 0; rtt.backoff < 3; rtt.backoff++) {
        const auto timeout = olaf_rtt_timeout(&rtt);
        EXPECT_EQ(timeout, (300 * ms + 1) << rtt.backoff);
        EXPECT_GT(timeout, last);
        last = timeout;
    }
    for (const std::uint32_t backoff : {3u, 30u, 64u, 0xffffffffu}) {
        rtt.backoff = backoff;
        EXPECT_EQ(olaf_rtt_timeout(&rtt), 2 * second);
    }
}

TEST(RoundTrip, ALongPathIsWaitedForBeyondThat) {
    auto rtt = sampled({10 * second});
    EXPECT_EQ(olaf_rtt_timeout(&rtt), 30 * second + 1);
    rtt.backoff = 5;
    EXPECT_EQ(olaf_rtt_timeout(&rtt), 30 * second + 1);
    rtt = sampled({UINT64_MAX});
    EXPECT_EQ(olaf_rtt_timeout(&rtt), 60 * second);
}

// `--window auto` against the best fixed size, in simulated time: what it reaches, how much it
// lets queue for that, and how it follows a path that changes.

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
    for (const auto &row :
         {Payment{1, 2, 100, 200, 0, true}, Payment{1, 2, 100, 100, 0, false},
          Payment{1, 2, 100, 108, 0, false}, // 100 % more for 8 %
          Payment{1, 2, 100, 109, 0, true}, Payment{8, 9, 1000, 1010, 0, false}, // 12.5 % for 1.0 %
          Payment{8, 9, 1000, 1011, 0, true}, Payment{8, 9, 1000, 1011, 32, false}, // may be chance
          Payment{8, 9, 1000, 1032, 32, true}, Payment{512, 1024, 1000, 900, 0, false}}) {
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
} // namespace olaf::test::window_test
