// SPDX-License-Identifier: BSD-2-Clause
// How long an ACK is waited for: RFC 6298, and its bounds.
#include <gtest/gtest.h>

#include "bpf/order/window_rtt.bpf.h"

namespace olaf::test::window_test {
namespace {

constexpr std::uint64_t ms = 1'000'000, second = 1000 * ms;

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

TEST(RoundTrip, ASteadyPathKeepsAMargin) {
    olaf_rtt rtt{};
    for (int i = 0; i < 1000; i++)
        olaf_rtt_sample(&rtt, 50'000);
    EXPECT_NEAR(static_cast<double>(olaf_rtt_timeout(&rtt)), 10.05e6, 1000);
}

TEST(RoundTrip, ALongSteadyPathKeepsAQuarterOfItself) {
    olaf_rtt rtt{};
    for (int i = 0; i < 1000; i++)
        olaf_rtt_sample(&rtt, 400 * ms);
    EXPECT_NEAR(static_cast<double>(olaf_rtt_timeout(&rtt)), 500e6, 1000);
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

} // namespace
} // namespace olaf::test::window_test
