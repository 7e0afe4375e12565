// SPDX-License-Identifier: BSD-2-Clause
// Which updates were answered, and which versions no ACK brought.
#include <gtest/gtest.h>

#include "missed_versions.hpp"
#include "own_updates.hpp"

namespace olaf::test::own_updates_test {
namespace {

using namespace olaf;
using std::chrono::milliseconds;

TEST(OwnUpdates, AreAnsweredOnceAndPassedOver) {
    OwnUpdates own;
    const OwnUpdates::Clock::time_point start{};
    for (std::uint32_t sequence = 1; sequence <= 5; sequence++)
        own.sent(sequence, 100 + sequence, sequence, start + milliseconds(sequence));
    EXPECT_EQ(own.last(), 5U);
    EXPECT_FALSE(own.answered(2, 101, start)) << "another's time";
    const auto second = own.answered(2, 102, start + milliseconds(12));
    ASSERT_TRUE(second);
    EXPECT_EQ(second->round_trip, milliseconds(10));
    EXPECT_EQ(second->model_version, 2U);
    EXPECT_EQ(own.unanswered(), 1U);
    EXPECT_FALSE(own.answered(2, 102, start)) << "another segment's";
    EXPECT_TRUE(own.answered(5, 105, start + milliseconds(20)));
    EXPECT_EQ(own.unanswered(), 3U);
    EXPECT_TRUE(own.answered(3, 103, start + milliseconds(20))) << "late";
    EXPECT_EQ(own.unanswered(), 2U);
    own.sent(3 + OwnUpdates::kKept, 7, 0, start);
    EXPECT_FALSE(own.answered(3, 103, start)) << "forgotten";
}

TEST(OwnUpdates, Wrap) {
    OwnUpdates own;
    for (const std::uint32_t sequence : {0x7fffffffU, 0xfffffffeU, 1U}) {
        own.sent(sequence, 1, 0, {});
        EXPECT_TRUE(own.answered(sequence, 1, {}));
    }
    EXPECT_EQ(own.unanswered(), 0xfffffffeU);
}

TEST(MissedVersions, AreHolesThatMayFillLate) {
    MissedVersions missed;
    missed.saw(10, true);
    EXPECT_EQ(missed.count(), 0U) << "what was before isn't missed";
    missed.saw(14, true);
    EXPECT_EQ(missed.count(), 3U);
    missed.saw(12, false);
    missed.saw(12, false);
    EXPECT_EQ(missed.count(), 2U);
    missed.saw(14, false);
    missed.saw(3, false);
    EXPECT_EQ(missed.count(), 2U);
    missed.saw(200, true);
    EXPECT_EQ(missed.count(), 2U + 185);
    missed.saw(13, false);
    EXPECT_EQ(missed.count(), 2U + 185) << "too late";
    missed.saw(1, true);
    missed.saw(3, true);
    EXPECT_EQ(missed.count(), 2U + 185 + 1) << "a server that counts anew";
}

TEST(MissedVersions, Wrap) {
    MissedVersions missed;
    missed.saw(0xffffffff, true);
    missed.saw(1, true);
    EXPECT_EQ(missed.count(), 1U);
    missed.saw(0, false);
    EXPECT_EQ(missed.count(), 0U);
    missed.saw(0x80000001, true); // half the circle: as far behind as ahead
    EXPECT_EQ(missed.count(), 0U);
}

} // namespace
} // namespace olaf::test::own_updates_test
