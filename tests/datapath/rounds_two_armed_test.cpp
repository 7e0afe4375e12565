// SPDX-License-Identifier: BSD-2-Clause
// A node whose parent is behind another device than its children: XDP hands TC what goes up, and TC
// takes what comes down at the parent's device.
#include <linux/pkt_cls.h>

#include <algorithm>
#include <cstdlib>

#include "rounds_tree_test.hpp"

namespace olaf::test::rounds_two_armed_test {
namespace {

/// The parent is behind `far`, and what the queue's device sends is seen there, too: it is the other
/// end of the pair.
class RoundsTwoArmed : public RoundsTree {
  protected:
    RoundsTwoArmed() {
        auto elsewhere = job();
        elsewhere.setup.parent_ifindex = net.far;
        set_job(elsewhere);
    }

    /// The message that TC sends to the parent in place of XDP's order.
    std::optional<ReceivedJobMessage> onward(const Ran &order) {
        EXPECT_STREQ(verdict_name(order.verdict), "XDP_PASS");
        const auto ran = run_tc(queue.queue().program_fd("olaf_copies"), order.bytes, net.near);
        EXPECT_EQ(ran.verdict, std::uint32_t{TC_ACT_REDIRECT});
        return parse_job_message(ran.bytes);
    }
    JobMessage complete_here(std::uint32_t chunk) {
        dropped(offer(contribution(0, chunk)));
        const auto up = onward(offer(contribution(1, chunk)));
        return up ? up->message : JobMessage{};
    }
    /// A frame that comes in by the parent's device.
    std::uint32_t comes_in(const Frame &frame) {
        return run_tc(queue.queue().program_fd("olaf_parent_in"), frame.bytes, net.far).verdict;
    }
    std::uint32_t comes_in(JobMessage message) {
        message.rank = own_rank;
        return comes_in(down().carrying(message));
    }
    void expect_at_child(std::uint32_t rank, const JobMessage &expected) {
        const auto sent = seen.next();
        ASSERT_TRUE(sent);
        EXPECT_EQ(sent_to(rank, {.verdict = XDP_TX, .bytes = *sent}, 4), expected);
    }

    Capture seen{net.far};
};

INSTANTIATE_TEST_SUITE_P(OfBothFamilies, RoundsTwoArmed, testing::Values(4, 6),
                         [](const auto &info) { return "Ipv" + std::to_string(info.param); });

TEST_P(RoundsTwoArmed, ACompleteChunkGoesUpByTheParentsDevice) {
    dropped(offer(contribution(0, 0)));
    const auto up = onward(offer(contribution(1, 0)));
    ASSERT_TRUE(up);
    auto expected = result(own_rank, {0, 1}, 0);
    expected.type = OLAF_CONTRIBUTION;
    expected.generation = parent_generation;
    expected.pool = 0;
    EXPECT_EQ(up->message, expected);
    EXPECT_EQ(up->port, parent_port);
    EXPECT_EQ(slot(0).buffer[0].state, OLAF_ROUND_UP);
    EXPECT_EQ(counters().up_sent, 1u);
    EXPECT_EQ(counters().up_unfit, 0u);
}

TEST_P(RoundsTwoArmed, WithTheHeadersThatItHasByTheQueuesOwnDevice) {
    auto here = job();
    here.setup.parent_ifindex = 0;
    set_job(here);
    dropped(offer(contribution(0, 0)));
    const auto by_own = offer(contribution(1, 0));
    ASSERT_STREQ(verdict_name(by_own.verdict), "XDP_TX");
    auto again = slot(0);
    again.buffer[0].up_ns -= 300'000'000; // overdue
    set_slot(0, again);
    here.setup.parent_ifindex = net.far;
    set_job(here);
    const auto order = offer(contribution(0, 0));
    const auto by_other = run_tc(queue.queue().program_fd("olaf_copies"), order.bytes, net.near);
    constexpr std::size_t macs = 12;
    ASSERT_EQ(by_other.bytes.size(), by_own.bytes.size());
    EXPECT_TRUE(std::equal(by_own.bytes.begin() + macs, by_own.bytes.end(),
                           by_other.bytes.begin() + macs));
}

TEST_P(RoundsTwoArmed, WhatIsLongerThanTheDevicesMtuIsCountedAndStaysHere) {
    ASSERT_EQ(std::system("ip link set far mtu 100"), 0);
    dropped(offer(contribution(0, 0)));
    const auto order = offer(contribution(1, 0));
    const auto ran = run_tc(queue.queue().program_fd("olaf_copies"), order.bytes, net.near);
    EXPECT_EQ(ran.verdict, std::uint32_t{TC_ACT_SHOT});
    EXPECT_EQ(counters().up_unfit, 1u);
    EXPECT_EQ(slot(0).buffer[0].state, OLAF_ROUND_UP);
}

TEST_P(RoundsTwoArmed, TheParentsResultLeavesByTheQueuesDevice) {
    complete_here(0);
    EXPECT_EQ(comes_in(parents_result(0)), std::uint32_t{TC_ACT_SHOT});
    expect_at_child(0, for_child(0, parents_result(0)));
    EXPECT_TRUE(seen.empty());
    EXPECT_EQ(sent_to(1, offer(contribution(0, 1))), for_child(1, parents_result(0)));
    EXPECT_EQ(counters().completed, 1u);
    EXPECT_EQ(counters().copied, 1u);
    EXPECT_EQ(counters().riding, 1u);
}

TEST_P(RoundsTwoArmed, AfterAFlushAllOfItLeavesAtOnce) {
    dropped(offer(contribution(0, 0)));
    auto last = contribution(1, 0);
    last.flags |= OLAF_FLAG_FLUSH;
    onward(offer(last));
    EXPECT_EQ(comes_in(parents_result(0)), std::uint32_t{TC_ACT_SHOT});
    for (const std::uint32_t rank : {0u, 1u})
        expect_at_child(rank, for_child(rank, parents_result(0)));
    EXPECT_TRUE(seen.empty());
    EXPECT_EQ(owed(), 0u);
}

TEST_P(RoundsTwoArmed, AResultThatComesTwiceIsTakenOnce) {
    complete_here(0);
    comes_in(parents_result(0));
    EXPECT_EQ(comes_in(parents_result(0)), std::uint32_t{TC_ACT_SHOT});
    EXPECT_EQ(counters().completed, 1u);
}

TEST_P(RoundsTwoArmed, AResultOfSomebodyElseIsRefused) {
    complete_here(0);
    auto forged = parents_result(0);
    EXPECT_EQ(comes_in(down().source_port(999).carrying(forged)), std::uint32_t{TC_ACT_SHOT});
    EXPECT_EQ(comes_in(down().source(77).carrying(forged)), std::uint32_t{TC_ACT_SHOT});
    EXPECT_EQ(queue.counters().not_allowed[OLAF_NOT_ALLOWED_JOB_RESULT], 2u);
    EXPECT_EQ(slot(0).buffer[0].state, OLAF_ROUND_UP);
    EXPECT_TRUE(seen.empty());
}

TEST_P(RoundsTwoArmed, AMalformedOneIsDroppedAndCounted) {
    complete_here(0);
    auto wrong = parents_result(0);
    wrong.lanes.pop_back();
    EXPECT_EQ(comes_in(wrong), std::uint32_t{TC_ACT_SHOT});
    EXPECT_EQ(queue.counters().malformed[OLAF_MALFORMED_JOB], 1u);
    EXPECT_EQ(slot(0).buffer[0].state, OLAF_ROUND_UP);
}

TEST_P(RoundsTwoArmed, WhatIsNotTheJobsPassesUntouched) {
    auto other = parents_result(0);
    other.job = 99;
    constexpr auto passes = static_cast<std::uint32_t>(TC_ACT_UNSPEC);
    EXPECT_EQ(comes_in(other), passes);
    EXPECT_EQ(comes_in(down().target(55).carrying(parents_result(0))), passes) << "another host's";
    EXPECT_EQ(comes_in(down().port(99).carrying(parents_result(0))), passes) << "another service's";
    EXPECT_EQ(comes_in(down().carrying(contribution(0, 0))), passes) << "a child of somebody else";
    EXPECT_EQ(comes_in(down().carrying(Update{.cluster = 7})), passes);
    EXPECT_EQ(run_tc(queue.queue().program_fd("olaf_parent_in"),
                     down().carrying(parents_result(0)).bytes, net.near)
                  .verdict,
              passes)
        << "by a device that isn't the parent's";
    EXPECT_EQ(queue.counters().not_allowed[OLAF_NOT_ALLOWED_JOB_RESULT], 0u);
}

TEST_P(RoundsTwoArmed, StaleOfTheSameGenerationEndsTheRound) {
    complete_here(0);
    comes_in({.type = OLAF_RESULT, .flags = OLAF_FLAG_STALE, .round = 0,
              .count = parent_generation, .generation = parent_generation});
    const auto answer = sent_to(0, offer(contribution(0, 0)));
    EXPECT_EQ(answer.flags & OLAF_FLAG_STALE, OLAF_FLAG_STALE);
}

TEST_P(RoundsTwoArmed, TheNodeAsksItsParentAndTheAnswerGoesToTheChildThatAskedLast) {
    auto waiting = job();
    waiting.state = OLAF_JOB_SYNCING;
    set_job(waiting);
    const auto sync = [](std::uint32_t rank, std::uint64_t stamp) {
        return JobMessage{.type = OLAF_CONTROL, .flags = 0, .rank = rank, .round = 5,
                          .count = OLAF_CONTROL_SYNC, .generated_ns = stamp, .chunk = 2,
                          .chunks = 0, .generation = 0, .pool = 1};
    };
    EXPECT_TRUE(sent_back(offer(sync(0, 50))));
    const auto question = onward(offer(sync(1, 51)));
    ASSERT_TRUE(question);
    EXPECT_EQ(question->message.rank, own_rank);
    EXPECT_EQ(question->message.chunk, 2u);
    auto answer = question->message;
    answer.flags = OLAF_FLAG_ANSWER;
    answer.generation = 78;
    answer.exponent = OLAF_CONTROL_DONE;
    answer.rank = own_rank;
    const auto ran = run_tc(queue.queue().program_fd("olaf_parent_in"),
                            down().carrying(answer).bytes, net.far);
    EXPECT_EQ(ran.verdict, std::uint32_t{TC_ACT_REDIRECT});
    const auto told = sent_to(1, {.verdict = XDP_TX, .bytes = ran.bytes}, 4);
    EXPECT_EQ(told.exponent, OLAF_CONTROL_DONE);
    EXPECT_EQ(told.generated_ns, 51u);
    EXPECT_EQ(job().state, OLAF_JOB_RUNNING);
    EXPECT_EQ(job().parent_generation, 78u);
}

} // namespace
} // namespace olaf::test::rounds_two_armed_test
