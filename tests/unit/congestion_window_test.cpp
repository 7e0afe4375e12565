// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "congestion_window.hpp"

using namespace olaf;

namespace olaf::test::congestion_window_test {
namespace {

constexpr auto first = CongestionWindow::kFirst;

void take(CongestionWindow &window, std::size_t results, bool full = true) {
    for (std::size_t i = 0; i < results; i++)
        window.taken(full);
}

TEST(CongestionWindow, GrowsByAnEighthARoundTripUntilSomethingIsLost) {
    CongestionWindow window;
    take(window, first);
    EXPECT_EQ(window.size(), first + first / 8);
}

TEST(CongestionWindow, GrowsByOneARoundTripAfterwards) {
    CongestionWindow window;
    window.lost(0, first);
    take(window, first / 2 - 1);
    EXPECT_EQ(window.size(), first / 2);
    take(window, 1);
    EXPECT_EQ(window.size(), first / 2 + 1);
}

TEST(CongestionWindow, DoesntGrowWhereSomethingElseLimitsWhatIsUnderWay) {
    CongestionWindow window;
    take(window, 1000, false);
    EXPECT_EQ(window.size(), first);
}

TEST(CongestionWindow, GrowsAboveItsFirstSizeOnlyWhileResultsDontWaitInQueues) {
    using namespace std::chrono_literals;
    CongestionWindow window;
    window.measured(100us);
    window.measured(200us);
    take(window, 1000);
    EXPECT_EQ(window.size(), first) << "half of the time is a queue's";
    window.measured(199us);
    take(window, first);
    EXPECT_EQ(window.size(), first + first / 8);
}

TEST(CongestionWindow, GrowsUpToItsFirstSizeHoweverLongResultsTake) {
    using namespace std::chrono_literals;
    CongestionWindow window;
    window.measured(100us);
    window.measured(10ms);
    window.lost(0, first);
    take(window, 2 * first * first);
    EXPECT_EQ(window.size(), first);
}

TEST(CongestionWindow, IsHalvedOnceForAllThatWasUnderWay) {
    CongestionWindow window;
    for (const std::uint64_t position : {3, 9, 63})
        window.lost(position, 64);
    EXPECT_EQ(window.size(), first / 2);
    window.lost(64, 100);
    EXPECT_EQ(window.size(), first / 4);
}

TEST(CongestionWindow, IsNeverClosed) {
    CongestionWindow window;
    for (std::uint64_t position = 0; position < 20; position++)
        window.lost(position, position + 1);
    EXPECT_EQ(window.size(), CongestionWindow::kLeast);
}

TEST(CongestionWindow, IsOpenedAgainWhereNothingWasLostAfterAll) {
    CongestionWindow window;
    window.lost(1, 64);
    window.lost(2, 64);
    window.not_lost();
    EXPECT_EQ(window.size(), first / 2) << "one of two was lost";
    window.not_lost();
    EXPECT_EQ(window.size(), first);
    window.not_lost();
    EXPECT_EQ(window.size(), first) << "nothing more is known to have been lost";
}

} // namespace
} // namespace olaf::test::congestion_window_test
