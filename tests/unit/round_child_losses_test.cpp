// SPDX-License-Identifier: BSD-2-Clause
// When a worker of a job sends again what has no result.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "round_child.hpp"

namespace olaf::test::round_child_losses_test {
namespace {

struct RoundChildLosses : RoundChildTest {
    /// That many chunks are under way, behind one that took a millisecond, as it does usually.
    void send(std::uint32_t chunks) {
        all = chunks + 1;
        child.add(all, 0, 0);
        run(5);
        ASSERT_TRUE(contribution());
        const auto began = now;
        for (std::uint32_t i = 1; i < all; i++)
            ASSERT_TRUE(contribution());
        now += 1ms;
        give_result(0, all);
        ASSERT_EQ(now - began, 1ms);
        ASSERT_FALSE(message());
    }
    void bring(std::uint32_t chunk) { give_result(chunk, all); }
    /// What it sends by then, a chunk each.
    std::vector<std::uint32_t> sent_within(RoundChild::Time time) {
        std::vector<std::uint32_t> chunks;
        const auto end = now + time;
        while (child.wakes_at() <= end) {
            now = std::max(now, child.wakes_at());
            if (const auto sent = contribution())
                chunks.push_back(sent->chunk);
        }
        now = end;
        return chunks;
    }
    using Chunks = std::vector<std::uint32_t>;
    std::uint32_t all = 0;
};

TEST_F(RoundChildLosses, WhatWasOvertakenGoesAgainAfterAWhile) {
    send(4);
    bring(3);
    EXPECT_EQ(sent_within(999us), Chunks{1}) << "the oldest, as its time is up";
    EXPECT_EQ(sent_within(1us), Chunks{2}) << "a round trip, while nothing else is known";
}

TEST_F(RoundChildLosses, WhatComesSoonAfterAllIsNotSentAgain) {
    send(4);
    bring(3);
    EXPECT_EQ(sent_within(200us), Chunks{});
    bring(1);
    bring(2);
    bring(4);
    EXPECT_EQ(sent_within(1s), Chunks{});
    EXPECT_EQ(child.stats().repeated, 0U);
}

// The others may not have sent it, or this one. So one frame asks.
TEST_F(RoundChildLosses, WhereNothingComesTheOldestAloneGoesAgain) {
    send(4);
    EXPECT_EQ(sent_within(749us), Chunks{});
    EXPECT_EQ(sent_within(1us), Chunks{1});
    EXPECT_EQ(sent_within(2999us), Chunks{});
    EXPECT_EQ(sent_within(1us), Chunks{1}) << "twice as late";
}

// A link or a CPU is late, and nothing is lost.
TEST_F(RoundChildLosses, WhileThisHostStillHasFramesTheOldestWaitsOn) {
    send(4);
    now += 750us;
    ASSERT_TRUE(child.is_overdue(now));
    child.is_held_up(now);
    EXPECT_EQ(sent_within(749us), Chunks{});
    EXPECT_EQ(sent_within(1us), Chunks{1});
}

TEST_F(RoundChildLosses, NoFrameIsWaitedForLongerThanASecond) {
    send(4);
    const auto began = now - 1ms;
    bool sent = false;
    while (!sent) {
        now = std::max(now, child.wakes_at());
        if (child.is_overdue(now))
            child.is_held_up(now);
        sent = message().has_value();
    }
    EXPECT_EQ(now - began, 1s + 750us);
}

// A slow member's chunks follow each other.
TEST_F(RoundChildLosses, WhatIsOldestNowWaitsForItsTurn) {
    send(4);
    ASSERT_EQ(sent_within(750us), Chunks{1});
    now += 10us;
    bring(1);
    EXPECT_EQ(sent_within(1400us), Chunks{});
    bring(2);
    bring(3);
    EXPECT_EQ(sent_within(1400us), Chunks{});
}

// What was sent after the repetition has its result.
TEST_F(RoundChildLosses, ARepetitionThatIsOvertakenIsSentAgain) {
    send(4);
    bring(2);
    ASSERT_EQ(sent_within(1ms), Chunks{1});
    bring(4);
    ASSERT_EQ(sent_within(1ms), Chunks{3});
    now += 1ms;
    bring(3);
    EXPECT_EQ(sent_within(1ms), Chunks{1});
}

// All others wait for a slow member's, and nothing of theirs was lost.
TEST_F(RoundChildLosses, ARepetitionsResultSaysNothingOfWhatWasSentOnce) {
    send(6);
    bring(2);
    ASSERT_EQ(sent_within(1ms), Chunks{1});
    now += 1ms;
    bring(1);
    EXPECT_EQ(sent_within(700us), Chunks{}) << "3 and what is behind it were sent before that";
}

} // namespace
} // namespace olaf::test::round_child_losses_test
