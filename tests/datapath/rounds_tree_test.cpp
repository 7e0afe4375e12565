// SPDX-License-Identifier: BSD-2-Clause
// A node below another one: aggregates go up, results come down, and a restart up there reaches the
// children.
#include <linux/pkt_cls.h>

#include "float_reference.hpp"
#include "rounds_tree_test.hpp"

namespace olaf::test::rounds_tree_test {
namespace {

INSTANTIATE_TEST_SUITE_P(OfBothFamilies, RoundsTree, testing::Values(4, 6), [](const auto &info) {
    return "Ipv" + std::to_string(info.param);
});

TEST_P(RoundsTree, ACompleteChunkGoesUpAsOneContribution) {
    const auto up = complete(0);
    auto expected = result(own_rank, {0, 1}, 0);
    expected.type = OLAF_CONTRIBUTION;
    expected.generation = parent_generation;
    expected.pool = 0;
    EXPECT_EQ(up, expected);
    EXPECT_EQ(slot(0).buffer[0].state, OLAF_ROUND_UP);
    EXPECT_EQ(counters().up_sent, 1u);
    EXPECT_EQ(counters().completed, 0u);
}

TEST_P(RoundsTree, TheParentsResultIsEveryChilds) {
    complete(0);
    EXPECT_EQ(sent_to(0, tell(parents_result(0))), for_child(0, parents_result(0)));
    EXPECT_EQ(sent_to(1, offer(contribution(0, 1))), for_child(1, parents_result(0)));
    EXPECT_EQ(counters().completed, 1u);
}

TEST_P(RoundsTree, ItsResultThatComesTwiceIsTakenOnce) {
    complete(0);
    tell(parents_result(0));
    EXPECT_EQ(sent_to(1, tell(parents_result(0))), for_child(1, parents_result(0)));
    dropped(tell(parents_result(0)));
    EXPECT_EQ(counters().completed, 1u);
}

TEST_P(RoundsTree, AnOverdueAggregateGoesUpAgainWithADuplicate) {
    const auto went_up = [&](std::uint64_t ns) {
        auto changed = slot(0);
        changed.buffer[0].up_ns = ns;
        set_slot(0, changed);
    };
    constexpr auto never_overdue = UINT64_MAX / 2; // however slow the machine is
    const auto first = complete(0);
    const auto up_ns = slot(0).buffer[0].up_ns;
    went_up(never_overdue);
    dropped(offer(contribution(0, 0)));
    went_up(up_ns - 300'000'000);
    EXPECT_EQ(sent_up(offer(contribution(0, 0))), first);
    EXPECT_EQ(counters().up_again, 1u);
    EXPECT_EQ(counters().duplicate, 2u);
    went_up(never_overdue);
    dropped(offer(contribution(1, 0)));
}

TEST_P(RoundsTree, LateOrPartialAboveIsSoBelow) {
    complete(0);
    auto partial = parents_result(0);
    partial.flags |= OLAF_FLAG_PARTIAL | OLAF_FLAG_LATE;
    EXPECT_EQ(sent_to(0, tell(partial)), for_child(0, partial));
}

TEST_P(RoundsTree, AResultBeforeTheChunkIsCompleteHereIsLateForAll) {
    dropped(offer(contribution(0, 0)));
    auto late = parents_result(0);
    late.flags |= OLAF_FLAG_PARTIAL;
    auto expected = for_child(0, late);
    expected.flags |= OLAF_FLAG_LATE;
    EXPECT_EQ(sent_to(0, tell(late)), expected);
}

TEST_P(RoundsTree, AResultOfSomebodyElseIsRefused) {
    complete(0);
    auto forged = parents_result(0);
    dropped(queue.offer(down().source_port(999).carrying(forged)));
    dropped(queue.offer(path_of(0, GetParam()).carrying(forged)));
    EXPECT_EQ(queue.counters().not_allowed[OLAF_NOT_ALLOWED_JOB_RESULT], 2u);
    EXPECT_EQ(slot(0).buffer[0].state, OLAF_ROUND_UP);
}

TEST_P(RoundsTree, AResultOfAnotherGenerationChangesNothing) {
    complete(0);
    auto old = parents_result(0);
    old.generation--;
    dropped(tell(old));
    EXPECT_EQ(slot(0).buffer[0].state, OLAF_ROUND_UP);
}

TEST_P(RoundsTree, StaleOfTheSameGenerationEndsTheRound) {
    complete(0);
    dropped(tell({.type = OLAF_RESULT, .flags = OLAF_FLAG_STALE, .round = 0,
                  .count = parent_generation, .generation = parent_generation}));
    const auto answer = sent_to(0, offer(contribution(0, 0)));
    EXPECT_EQ(answer.flags & OLAF_FLAG_STALE, OLAF_FLAG_STALE);
}

TEST_P(RoundsTree, StaleOfAnotherGenerationMakesTheChildrenAgreeAnew) {
    complete(0);
    JobMessage stale{.type = OLAF_RESULT, .flags = OLAF_FLAG_STALE, .count = parent_generation,
                     .generation = 77};
    auto late = stale;
    late.count = parent_generation - 1; // answers an older question
    dropped(tell(late));
    EXPECT_EQ(job().state, OLAF_JOB_RUNNING);
    dropped(tell(stale));
    EXPECT_EQ(job().state, OLAF_JOB_SYNCING);
    EXPECT_EQ(job().generation, job_generation + 1);
    EXPECT_EQ(sent_to(0, offer(contribution(0, 0))).generation, job_generation + 1);
}

TEST_P(RoundsTree, AParentWhoseMacAddressIsUnknownIsAskedForAndGetsTheAggregateLater) {
    const auto known = job();
    auto silent = known;
    const auto stranger = host_of_servers(GetParam(), 77);
    std::ranges::copy(stranger.words_be, silent.setup.parent_addr_be);
    set_job(silent);
    dropped(offer(contribution(0, 0)));
    const auto up = offer(contribution(1, 0));
    ASSERT_STREQ(verdict_name(up.verdict), "XDP_PASS"); // an order for TC
    const auto asked = run_tc(queue.queue().program_fd("olaf_copies"), up.bytes, net.near);
    EXPECT_EQ(asked.verdict, std::uint32_t{TC_ACT_REDIRECT});
    EXPECT_EQ(queue.counters().hops_asked, 1u);
    EXPECT_EQ(slot(0).buffer[0].state, OLAF_ROUND_UP);
    // Its address is known by now, and a child repeats what it lacks the result of.
    set_job(known);
    auto aged = slot(0);
    aged.buffer[0].up_ns -= 300'000'000;
    set_slot(0, aged);
    EXPECT_EQ(sent_up(offer(contribution(0, 0))).lanes, sum_of({0, 1}, 0));
}

class RoundsTreeAgrees : public RoundsTree {
  protected:
    RoundsTreeAgrees() {
        auto waiting = job();
        waiting.state = OLAF_JOB_SYNCING;
        set_job(waiting);
    }
    JobMessage sync(std::uint32_t rank, std::uint64_t stamp, std::uint32_t round,
                    std::uint32_t chunk) {
        return {.type = OLAF_CONTROL, .flags = 0, .rank = rank, .round = round,
                .count = OLAF_CONTROL_SYNC, .generated_ns = stamp, .chunk = chunk, .chunks = 0,
                .generation = 0, .pool = 1};
    }
    /// Both children ask; what the node asks its parent then.
    JobMessage both_ask() {
        EXPECT_EQ(sent_back(offer(sync(0, 50, 5, 6))).exponent, OLAF_CONTROL_WAIT);
        return sent_up(offer(sync(1, 51, 5, 2)));
    }
    JobMessage sent_back(const Ran &ran) {
        EXPECT_STREQ(verdict_name(ran.verdict), "XDP_TX");
        const auto received = parse_job_message(ran.bytes);
        return received ? received->message : JobMessage{};
    }
    JobMessage answer_to(const JobMessage &question, olaf_control_status status) {
        auto answer = question;
        answer.flags = OLAF_FLAG_ANSWER;
        answer.round = 4;
        answer.chunk = 9;
        answer.generation = 78;
        answer.exponent = static_cast<std::int16_t>(status);
        answer.pool = 0;
        return answer;
    }
};

INSTANTIATE_TEST_SUITE_P(OfBothFamilies, RoundsTreeAgrees, testing::Values(4, 6),
                         [](const auto &info) { return "Ipv" + std::to_string(info.param); });

TEST_P(RoundsTreeAgrees, OnceAllChildrenHaveAskedTheNodeAsksItsParent) {
    const auto question = both_ask();
    EXPECT_EQ(question.type, OLAF_CONTROL);
    EXPECT_EQ(question.rank, own_rank);
    EXPECT_EQ(question.count, OLAF_CONTROL_SYNC);
    EXPECT_EQ(question.round, 5u);
    EXPECT_EQ(question.chunk, 2u);
    EXPECT_EQ(question.generation, parent_generation);
    EXPECT_EQ(question.pool, 1);
    EXPECT_EQ(question.generated_ns, job().stamp);
    EXPECT_EQ(job().state, OLAF_JOB_SYNCING);
    // Again with a child's repetition, as the same question.
    EXPECT_EQ(sent_up(offer(sync(0, 50, 5, 6))), question);
}

TEST_P(RoundsTreeAgrees, TheParentsAnswerBeginsTheJobAndGoesToTheChildThatAskedLast) {
    const auto question = both_ask();
    const auto told = sent_to(1, tell(answer_to(question, OLAF_CONTROL_DONE)), 4);
    EXPECT_EQ(told.exponent, OLAF_CONTROL_DONE);
    EXPECT_EQ(told.round, 4u);
    EXPECT_EQ(told.chunk, 9u);
    EXPECT_EQ(told.pool, 0);
    EXPECT_EQ(told.generation, job_generation);
    EXPECT_EQ(told.generated_ns, 51u);
    EXPECT_EQ(job().state, OLAF_JOB_RUNNING);
    EXPECT_EQ(job().parent_generation, 78u);
    EXPECT_EQ(sent_back(offer(sync(0, 50, 5, 6))).exponent, OLAF_CONTROL_DONE);
}

TEST_P(RoundsTreeAgrees, WhoIsMissingAboveIsNamedAsOneOfANodeAbove) {
    const auto own = sent_back(offer(sync(0, 50, 5, 6)));
    EXPECT_EQ(own.flags, OLAF_FLAG_ANSWER);
    EXPECT_EQ(own.rank, 1u);
    auto wait = answer_to(sent_up(offer(sync(1, 51, 5, 2))), OLAF_CONTROL_WAIT);
    wait.rank = 3;
    wait.chunks = 2;
    const auto told = sent_back(tell(wait));
    EXPECT_EQ(told.flags, OLAF_FLAG_ANSWER | OLAF_FLAG_ABOVE);
    EXPECT_EQ(told.rank, 3u);
    EXPECT_EQ(told.chunks, 2u);
}

TEST_P(RoundsTreeAgrees, AnAnswerToAnOlderQuestionBeginsNothing) {
    auto question = both_ask();
    question.generated_ns--;
    for (const auto status : {OLAF_CONTROL_DONE, OLAF_CONTROL_WAIT, OLAF_CONTROL_OLD})
        dropped(tell(answer_to(question, status)));
    EXPECT_EQ(job().state, OLAF_JOB_SYNCING);
}

TEST_P(RoundsTreeAgrees, AnOldQuestionIsAskedAnew) {
    const auto question = both_ask();
    tell(answer_to(question, OLAF_CONTROL_OLD));
    EXPECT_GT(sent_up(offer(sync(0, 50, 5, 6))).generated_ns, question.generated_ns);
}

/// What goes up and comes down are floats again.
class RoundsTreeOfFloats : public RoundsTree {
  protected:
    RoundsTreeOfFloats() : RoundsTree(of_floats(below_a_parent(GetParam()))) {}
    JobMessage of(JobMessage message, std::vector<float> values) const {
        values.resize(2u * setup.lanes);
        message.lanes = float_lanes(values);
        return message;
    }
};

INSTANTIATE_TEST_SUITE_P(OfBothFamilies, RoundsTreeOfFloats, testing::Values(4, 6), [](const auto &info) {
    return "Ipv" + std::to_string(info.param);
});

TEST_P(RoundsTreeOfFloats, ASumGoesUpAndTheParentsComesDownAsItIs) {
    constexpr float nan = std::numeric_limits<float>::quiet_NaN();
    dropped(offer(of(contribution(0, 0), {1.5f, 3e38f, 8192})));
    const auto up = sent_up(offer(of(contribution(1, 0), {2, 1, 8192})));
    EXPECT_EQ(up.type, OLAF_CONTRIBUTION);
    EXPECT_EQ(up.count, 2u);
    EXPECT_EQ(up.lanes, of(up, {3.5f, nan, 16384}).lanes);
    // Beyond what this node itself may sum: it is the parent's.
    const auto result = of(parents_result(0), {1e30f, nan, -5});
    EXPECT_EQ(sent_to(0, tell(result)), for_child(0, result));
    EXPECT_EQ(sent_to(1, offer(of(contribution(0, 1), {}))), for_child(1, result));
    EXPECT_EQ(counters().float_overflow, 1u);
}

/// A contribution of several workers may be as many times as large as one's.
TEST_P(RoundsTreeOfFloats, ANodesContributionMayBeAsLargeAsItsWorkersTogether) {
    auto nodes = contribution(0, 0);
    nodes.count = 3;
    dropped(offer(of(nodes, {3 * 8192, 3 * 8192 + 1, -3 * 8192})));
    const auto up = sent_up(offer(of(contribution(1, 0), {1, 1, -8192})));
    constexpr float nan = std::numeric_limits<float>::quiet_NaN();
    EXPECT_EQ(up.lanes, of(up, {3 * 8192 + 1, nan, -4 * 8192}).lanes);
    EXPECT_EQ(counters().float_overflow, 1u);
}

} // namespace
} // namespace olaf::test::rounds_tree_test
