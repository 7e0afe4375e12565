// SPDX-License-Identifier: BSD-2-Clause
// Numbers for people: three digits, never wider than their column.
#include <gtest/gtest.h>

#include <array>

#include "loader/text/human.hpp"
#include "loader/observe/sparkline.hpp"

namespace olaf::test::human_test {
namespace {

using namespace olaf;

TEST(Human, DurationsHaveThreeDigitsAndAUnit) {
    EXPECT_EQ(human_duration(0), "0");
    EXPECT_EQ(human_duration(870), "870ns");
    EXPECT_EQ(human_duration(999.6), "1.00us");
    EXPECT_EQ(human_duration(12'345), "12.3us");
    EXPECT_EQ(human_duration(999'960), "1.00ms");
    EXPECT_EQ(human_duration(4.56e9), "4.56s");
    EXPECT_EQ(human_duration(3590e9), "3590s");
    EXPECT_EQ(human_duration(7200e9), "2.00h");
    EXPECT_EQ(human_duration(-5), "0");
}

TEST(Human, CountsHaveToo) {
    EXPECT_EQ(human_count(0), "0");
    EXPECT_EQ(human_count(870), "870");
    EXPECT_EQ(human_count(12.54), "12.5");
    EXPECT_EQ(human_count(12'345), "12.3k");
    EXPECT_EQ(human_count(4'560'000), "4.56M");
}

TEST(Human, NothingIsWiderThanAColumn) {
    for (double value = 1; value < 1e15; value *= 1.01) {
        EXPECT_LE(human_duration(value).size(), 6u) << value;
        EXPECT_LE(human_count(value).size(), 5u) << value;
    }
}

TEST(Sparkline, GoesFromNothingToTheHighestShown) {
    const std::array values{0.0, 1.0, 2.0, 4.0};
    EXPECT_EQ(sparkline(values, 6, false), "  _,~#");
    EXPECT_EQ(sparkline(values, 2, true), "▅█");
    EXPECT_EQ(sparkline({}, 3, true), "   ");
    EXPECT_EQ(sparkline(std::array{0.0, 0.0}, 2, false), "__");
    EXPECT_EQ(sparkline(values, 0, false), "");
}

TEST(Bar, IsAsFullAsThePartAndNoFuller) {
    EXPECT_EQ(bar(0.5, 4, false), "##..");
    EXPECT_EQ(bar(0, 4, false), "....");
    EXPECT_EQ(bar(7, 4, true), "████");
}

} // namespace
} // namespace olaf::test::human_test
