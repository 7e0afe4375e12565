// SPDX-License-Identifier: BSD-2-Clause
// A node below another one: aggregates go up, results come down, and a restart up there reaches the children.
#include <bpf/bpf.h>
#include <linux/pkt_cls.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "float_reference.hpp"
#include "olaf/own.h"
#include "rounds_clones.hpp"
#include "rounds_sessions.hpp"
#include "rounds_tree.hpp"
#include "rounds_wire.hpp"

namespace olaf::test::rounds_tree_test {
namespace {

// ---- A node below another one: aggregates go up, results come down, and a restart up there reaches the
// children.

INSTANTIATE_TEST_SUITE_P(OfBothFamilies, RoundsTree, both_families, family_name);

TEST_P(RoundsTree, AResultBeforeTheChunkIsCompleteHereIsLateForAll) {
    dropped(offer(contribution(0, 0)));
    auto late = parents_result(0);
    late.flags |= OLAF_FLAG_PARTIAL;
    auto expected = for_child(0, late);
    expected.flags |= OLAF_FLAG_LATE;
    EXPECT_EQ(sent_to(0, tell(late)), expected);
}

// ---- The parent goes on without this node, and members here wait for what isn't complete here.

class RoundsTreeLeftBehind : public RoundsTree {
  protected:
    JobMessage probe(std::uint32_t rank, std::uint32_t chunk) {
        auto asks = contribution(rank, chunk);
        asks.lanes.clear();
        return asks;
    }
    /// As it leaves: this node asks for the chunk under its own rank.
    JobMessage up_probe(std::uint32_t chunk) {
        auto asks = probe(own_rank, chunk);
        asks.flags |= OLAF_FLAG_FLUSH;
        asks.generated_ns = 0;
        asks.exponent = 0;
        asks.generation = parent_generation;
        return asks;
    }
    JobMessage stale_of_parents(std::uint32_t chunk) {
        return {.type = OLAF_RESULT, .flags = OLAF_FLAG_STALE, .count = parent_generation,
                .chunk = chunk, .generation = parent_generation};
    }
    void wait_for_long(std::uint32_t chunk) {
        auto aged = slot(chunk);
        aged.buffer[0].up_ns -= 300'000'000;
        set_slot(chunk, aged);
    }
};

INSTANTIATE_TEST_SUITE_P(OfBothFamilies, RoundsTreeLeftBehind, both_families, family_name);

TEST_P(RoundsTreeLeftBehind, AProbeOfWhatNobodyHasOpenedGoesUpAsThisNodesOwn) {
    EXPECT_EQ(sent_up(offer(probe(0, 1))), up_probe(1));
    EXPECT_EQ(counters().up_asked, 1u);
    EXPECT_EQ(counters().probes, 1u);
    EXPECT_EQ(slot(1).buffer[0].state, OLAF_ROUND_FREE);
}

TEST_P(RoundsTreeLeftBehind, AResultOfWhatNobodyHasOpenedIsLateForAll) {
    dropped(offer(contribution(0, 1))); // it is known, where it sends from
    auto expected = for_child(0, parents_result(0));
    expected.flags |= OLAF_FLAG_LATE;
    EXPECT_EQ(sent_to(0, tell(parents_result(0))), expected);
    expected.rank = 1;
    EXPECT_EQ(sent_to(1, offer(contribution(1, 0))), expected);
    EXPECT_EQ(counters().late, 1u);
    EXPECT_EQ(counters().completed, 1u);
}

TEST_P(RoundsTreeLeftBehind, ThatAChunkIsOverAboveIsToldToWhoeverAsksForIt) {
    for (const bool is_open : {false, true}) {
        const std::uint32_t chunk = is_open ? 1 : 0;
        if (is_open)
            dropped(offer(contribution(1, chunk)));
        dropped(tell(stale_of_parents(chunk)));
        const auto told = sent_to(0, offer(probe(0, chunk)));
        EXPECT_EQ(told.flags & OLAF_FLAG_STALE, OLAF_FLAG_STALE);
        EXPECT_EQ(told.generation, job_generation);
        EXPECT_EQ(counters().completed, 0u) << "nobody is owed anything";
    }
}

TEST_P(RoundsTreeLeftBehind, WhatGathersForLongIsAskedForAbove) {
    dropped(offer(contribution(0, 0)));
    wait_for_long(0);
    EXPECT_EQ(sent_up(offer(contribution(0, 0))), up_probe(0));
    wait_for_long(0);
    EXPECT_EQ(sent_up(offer(probe(1, 0))), up_probe(0)) << "by whoever waits for it";
    EXPECT_EQ(counters().up_asked, 2u);
    EXPECT_EQ(slot(0).buffer[0].state, OLAF_ROUND_OPEN);
}

TEST_P(RoundsTreeLeftBehind, AProbeTakesTheAggregateUpAgain) {
    complete(0);
    wait_for_long(0);
    EXPECT_EQ(sent_up(offer(probe(0, 0))).lanes, sum_of({0, 1}, 0));
    EXPECT_EQ(counters().up_again, 1u);
}

TEST_P(RoundsTreeLeftBehind, AResultTakesNoRoomOfWhatGathersHere) {
    for (const std::uint32_t round : {0u, 1u})
        dropped(offer(contribution(0, 0, round)));
    dropped(tell(parents_result(0, 2)));
    EXPECT_EQ(counters().completed, 0u);
    for (const auto &buffer : slot(0).buffer)
        EXPECT_EQ(buffer.state, OLAF_ROUND_OPEN);
}

TEST_P(RoundsTreeLeftBehind, AResultOfWhatIsOverHereChangesNothing) {
    for (const std::uint32_t round : {1u, 2u}) {
        offer(contribution(0, 0, round)); // a result may ride
        sent_up(offer(contribution(1, 0, round)));
        tell(parents_result(0, round));
    }
    tell(parents_result(0, 0));
    EXPECT_EQ(counters().completed, 2u);
}

TEST_P(RoundsTree, AResultOfAnotherGenerationChangesNothing) {
    complete(0);
    auto old = parents_result(0);
    old.generation--;
    dropped(tell(old));
    EXPECT_EQ(slot(0).buffer[0].state, OLAF_ROUND_UP);
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
                .generation = 0, .pool = 1, .lanes = process(rank)};
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

INSTANTIATE_TEST_SUITE_P(OfBothFamilies, RoundsTreeAgrees, both_families, family_name);

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

TEST_P(RoundsTreeAgrees, AnOldQuestionIsAskedAnew) {
    const auto question = both_ask();
    auto old = answer_to(question, OLAF_CONTROL_OLD);
    tell(old);
    const auto anew = sent_up(offer(sync(0, 50, 5, 6)));
    EXPECT_GT(anew.generated_ns, question.generated_ns);
    // The parent has been asked by a clock that was an hour ahead.
    old = answer_to(anew, OLAF_CONTROL_OLD);
    old.lanes[1] = anew.generated_ns + 3'600'000'000'000;
    tell(old);
    EXPECT_EQ(sent_up(offer(sync(0, 50, 5, 6))).generated_ns, old.lanes[1] + 1);
}

TEST_P(RoundsTree, AResultThatWasDamagedOnItsWayDownIsAskedForAgain) {
    complete(0);
    auto damaged = parents_result(0);
    damaged.lanes[1] ^= 1;
    tell(damaged);
    auto first = contribution(0, 0), second = contribution(1, 0);
    first.flags |= OLAF_FLAG_SPOILT;
    second.flags |= OLAF_FLAG_SPOILT;
    dropped(offer(first));
    const auto up = sent_up(offer(second));
    EXPECT_EQ(up.flags, checked_i32 | OLAF_FLAG_SPOILT);
    EXPECT_EQ(up.lanes, sum_of({0, 1}, 0));
    EXPECT_EQ(counters().spoilt, 1u);
    EXPECT_EQ(sent_to(0, tell(parents_result(0))), for_child(0, parents_result(0)));
}

TEST_P(RoundsTree, VectorsThatDifferGoUpAtOnceAndTheParentsAnswerComesDown) {
    constexpr std::uint64_t other = 12345;
    auto first = contribution(0, 0), second = contribution(1, 0);
    first.vector = one_vector;
    second.vector = one_vector + 1;
    dropped(offer(first));
    const auto up = sent_up(offer(second));
    EXPECT_EQ(up.flags, checked_i32 | OLAF_FLAG_MISFIT | OLAF_FLAG_FLUSH);
    EXPECT_EQ(up.vector, one_vector);
    EXPECT_EQ(up.generated_ns, olaf_vector_identity(up.chunks, one_vector + 1));
    auto answer = parents_result(0);
    answer.flags |= OLAF_FLAG_MISFIT;
    answer.vector = one_vector + 2;
    answer.generated_ns = other;
    Capture far(net.far);
    const auto ran = tell(answer);
    ASSERT_STREQ(verdict_name(ran.verdict), "XDP_PASS") << "an order: both are told at once";
    const auto clones = test::clones_of(ran, queue, net, far, [&] { return counters(); });
    ASSERT_EQ(clones.size(), 2u);
    const auto got = sent_to(0, clones[0]);
    EXPECT_EQ(got.flags, checked_i32 | OLAF_FLAG_MISFIT);
    EXPECT_EQ(sent_to(1, clones[1]).flags, checked_i32 | OLAF_FLAG_MISFIT);
    EXPECT_EQ(got.vector, one_vector + 2);
    EXPECT_EQ(got.generated_ns, other);
}

// The parent's word about a chunk that isn't here.
TEST_P(RoundsTree, VectorsThatDifferElsewhereAreToldToWhomContributes) {
    dropped(offer(contribution(0, 1)));
    auto answer = parents_result(0);
    answer.flags |= OLAF_FLAG_MISFIT;
    answer.vector = one_vector;
    answer.lanes.clear();
    for (const auto generation : {parent_generation + 1, parent_generation}) {
        answer.generation = generation;
        dropped(tell(answer));
        if (generation == parent_generation)
            break;
        dropped(offer(contribution(0, 1))); // nobody is told what was in another generation
    }
    const auto told = sent_to(1, offer(contribution(1, 1)));
    EXPECT_EQ(told.flags, checked_i32 | OLAF_FLAG_MISFIT);
    EXPECT_EQ(told.vector, one_vector);
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

INSTANTIATE_TEST_SUITE_P(OfBothFamilies, RoundsTreeOfFloats, both_families, family_name);

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

// ---- A node whose sum is with its parent: what becomes of a contribution that comes only then, and of an answer to
// an earlier generation.

/// Two of three children complete a chunk.
class RoundsTreeThreshold : public RoundsTree {
  protected:
    RoundsTreeThreshold() : RoundsTree(two_of_three(GetParam())) {}
    static olaf_job_setup two_of_three(int family) {
        auto setup = below_a_parent(family);
        setup.children = 3;
        setup.threshold = 2;
        return setup;
    }
};

INSTANTIATE_TEST_SUITE_P(OfBothFamilies, RoundsTreeThreshold, both_families, family_name);

TEST_P(RoundsTreeThreshold, WhoComesAfterTheSumHasGoneUpIsLateAndGetsTheResultAsSuch) {
    EXPECT_EQ(complete(0).flags & OLAF_FLAG_PARTIAL, OLAF_FLAG_PARTIAL);
    auto overdue = slot(0);
    overdue.buffer[0].up_ns -= 300'000'000;
    set_slot(0, overdue);
    for (const auto late : {1u, 2u}) {
        dropped(offer(contribution(2, 0)));
        EXPECT_EQ(counters().late, late);
    }
    EXPECT_EQ(counters().up_again, 0u) << "it isn't one of those who wait for it";
    EXPECT_EQ(sent_to(0, tell(parents_result(0))), for_child(0, parents_result(0)));
    auto expected = for_child(2, parents_result(0));
    expected.flags |= OLAF_FLAG_LATE;
    EXPECT_EQ(sent_to(2, offer(contribution(2, 0))), expected);
    EXPECT_EQ(counters().late, 3u);
}

// ---- The parent's result came damaged, and its chunk is gathered anew here.

/// Children 0 and 1 of three are in what went up, and child 0 has said that the result is damaged.
class RoundsTreeAnew : public RoundsTreeThreshold {
  protected:
    RoundsTreeAnew() {
        complete(0);
        auto damaged = parents_result(0);
        damaged.lanes[1] ^= 1;
        tell(damaged);
        dropped(offer(again(0)));
    }
    JobMessage again(std::uint32_t rank) {
        auto message = contribution(rank, 0);
        message.flags |= OLAF_FLAG_SPOILT;
        return message;
    }
    JobMessage late_for(std::uint32_t rank) {
        auto result = for_child(rank, parents_result(0));
        result.flags |= OLAF_FLAG_LATE;
        return result;
    }
};

INSTANTIATE_TEST_SUITE_P(OfBothFamilies, RoundsTreeAnew, both_families, family_name);

TEST_P(RoundsTreeAnew, TheParentsResultIsNotLateForWhomeverItHas) {
    EXPECT_EQ(sent_to(0, tell(parents_result(0))), for_child(0, parents_result(0)));
    EXPECT_EQ(sent_to(1, offer(again(1))), for_child(1, parents_result(0))) << "which hasn't given again";
    EXPECT_EQ(sent_to(2, offer(contribution(2, 0))), late_for(2));
}

TEST_P(RoundsTreeAnew, TheParentsResultIsLateForAllWhereTheParentSaysSo) {
    auto result = parents_result(0);
    result.flags |= OLAF_FLAG_LATE;
    EXPECT_EQ(sent_to(0, tell(result)), late_for(0));
    EXPECT_EQ(sent_to(1, offer(again(1))), late_for(1));
}

TEST_P(RoundsTreeAnew, ItTakesTheSameContributionsAndNoOther) {
    dropped(offer(contribution(2, 0)));
    auto abstains = contribution(2, 0);
    abstains.lanes.clear();
    abstains.flags |= OLAF_FLAG_PARTIAL;
    dropped(offer(abstains));
    EXPECT_EQ(counters().late, 1u);
    EXPECT_EQ(sent_up(offer(again(1))).lanes, sum_of({0, 1}, 0));
    EXPECT_EQ(sent_to(0, tell(parents_result(0))), for_child(0, parents_result(0)));
    EXPECT_EQ(sent_to(2, offer(contribution(2, 0))), late_for(2));
}

TEST_P(RoundsTreeAnew, OnlyWhoeverIsInItCanHaveItGatheredAnew) {
    auto damaged = parents_result(0);
    damaged.lanes[1] ^= 1;
    sent_to(0, tell(damaged));
    auto expected = for_child(2, damaged);
    expected.flags |= OLAF_FLAG_LATE;
    EXPECT_EQ(sent_to(2, offer(again(2))), expected);
    EXPECT_EQ(counters().spoilt, 1u);
}

TEST_P(RoundsTreeAnew, NoDeadlineCompletesItWithoutOneOfThem) {
    auto hurried = job();
    hurried.setup.deadline_ns = 1;
    set_job(hurried);
    dropped(offer(again(0)));
    EXPECT_EQ(slot(0).buffer[0].state, OLAF_ROUND_OPEN);
}

TEST_P(RoundsTreeAnew, WhoeverHasLeftIsNotWaitedFor) {
    auto without = job();
    without.membership.absent[0].word[0] = without.membership.absent[1].word[0] = 1 << 1;
    without.membership.away = 1;
    set_job(without);
    EXPECT_EQ(sent_up(offer(again(0))).lanes, contribution(0, 0).lanes);
}

TEST_P(RoundsTreeAnew, TheNextChunkInItsBufferIsOfAnybody) {
    tell(parents_result(0));
    for (const std::uint32_t round : {1u, 2u}) { // in the other buffer, and in this one
        offer(contribution(1, 0, round));
        EXPECT_EQ(sent_up(offer(contribution(2, 0, round))).round, round);
        tell(parents_result(0, round));
    }
}

TEST_P(RoundsTreeThreshold, WhatIsDamagedAndNeverWentUpIsGatheredAnewOfAnybody) {
    dropped(offer(contribution(0, 0)));
    auto damaged = parents_result(0);
    damaged.flags |= OLAF_FLAG_PARTIAL | OLAF_FLAG_LATE;
    damaged.lanes[1] ^= 1;
    tell(damaged);
    auto first = contribution(2, 0), second = contribution(1, 0);
    first.flags |= OLAF_FLAG_SPOILT;
    second.flags |= OLAF_FLAG_SPOILT;
    offer(first); // it carries a result that is owed
    EXPECT_EQ(sent_up(offer(second)).lanes, sum_of({2, 1}, 0));
    EXPECT_EQ(counters().spoilt, 1u);
}

class RoundsTreeEarlier : public RoundsTree {};

INSTANTIATE_TEST_SUITE_P(OfBothFamilies, RoundsTreeEarlier, both_families, family_name);

TEST_P(RoundsTreeEarlier, StaleThatAnswersAnEarlierGenerationEndsNothing) {
    complete(0);
    JobMessage late{.type = OLAF_RESULT, .flags = OLAF_FLAG_STALE, .count = parent_generation - 1,
                    .generation = parent_generation};
    dropped(tell(late));
    EXPECT_EQ(slot(0).buffer[0].state, OLAF_ROUND_UP);
    EXPECT_EQ(sent_to(0, tell(parents_result(0))), for_child(0, parents_result(0)));
}

// ---- A node whose parent sends its results by multicast.

class RoundsParentsGroup : public RoundsTree {
  protected:
    RoundsParentsGroup() {
        auto below = setup;
        below.flags = OLAF_JOB_PARENTS_GROUP;
        below.parent_group_be[0] = htonl(GetParam() == 4 ? 0xef011bff : 0xff020000);
        below.parent_group_be[3] = GetParam() == 4 ? 0 : htonl(0xfdff);
        begin(below);
        know_the_parent();
    }

    /// The same by multicast. The group is one to which the checksums of a frame to host 1 fit too.
    Ran tell_all(JobMessage message) { return tell_all(std::move(message), down()); }
    Ran tell_all(JobMessage message, const Path &path) {
        message.rank = OLAF_EVERY_WORKER;
        auto frame = path.carrying(message);
        if (GetParam() == 4)
            return queue.offer(with(frame, frame.l3 + 16, 0xef011bff, 4));
        frame = with(frame, frame.l3 + 24, 0xff02000000000000, 8);
        return queue.offer(with(frame, frame.l3 + 32, 0xfdff, 8));
    }
};

INSTANTIATE_TEST_SUITE_P(OfBothFamilies, RoundsParentsGroup, both_families, family_name);

TEST_P(RoundsParentsGroup, AResultToTheParentsGroupIsTaken) {
    complete(0);
    auto late = parents_result(0);
    late.flags |= OLAF_FLAG_LATE;
    EXPECT_EQ(sent_to(0, tell_all(late)), for_child(0, late));
    EXPECT_EQ(sent_to(1, offer(contribution(0, 1))), for_child(1, late));
    EXPECT_EQ(counters().completed, 1u);
}

TEST_P(RoundsParentsGroup, AResultToTheParentsGroupFromAnybodyElseIsRefused) {
    complete(0);
    dropped(tell_all(parents_result(0), down().source(3)));
    dropped(tell_all(parents_result(0), down().source_port(parent_port + 1)));
    EXPECT_EQ(queue.counters().not_allowed[OLAF_NOT_ALLOWED_JOB_RESULT], 2u);
    EXPECT_EQ(counters().completed, 0u);
}

TEST_P(RoundsParentsGroup, AResultToAnotherGroupGoesOn) {
    auto below = setup;
    below.parent_group_be[0] ^= htonl(1);
    begin(below);
    know_the_parent();
    complete(0);
    EXPECT_STREQ(verdict_name(tell_all(parents_result(0)).verdict), "XDP_PASS");
    EXPECT_EQ(queue.counters().bypassed[OLAF_BYPASS_FOREIGN], 1u);
}

// ---- A node on the way to its parent: children send to the parent's address, which is no address of the node's host,
// and the node adds in passing. What it says to them comes from that address.

constexpr std::uint8_t parents_host = 2, another_host = 9;

class RoundsInPassing : public RoundsTree {
  protected:
    RoundsInPassing() {
        for (const auto host : {parents_host, another_host})
            disown(host);
    }
    ~RoundsInPassing() override { // the queue is lent to other tests
        for (const auto host : {parents_host, another_host})
            queue.own(Path(GetParam()).target(host).carrying(Update{}));
    }
    Ran pass(const JobMessage &message, std::uint8_t to = parents_host) {
        return offer(message, path_of(message.rank, GetParam()).target(to));
    }
    JobMessage complete_in_passing(std::uint32_t chunk) {
        dropped(pass(contribution(0, chunk)));
        return sent_up(pass(contribution(1, chunk)));
    }
    static void expect_from_parents_address(const Frame &frame) {
        const auto parent = host_of_servers(GetParam(), parents_host);
        const auto *const source = frame.bytes.data() + frame.l3 + (GetParam() == 4 ? 12 : 8);
        EXPECT_EQ(std::memcmp(source, parent.words_be.data(), GetParam() == 4 ? 4 : 16), 0);
    }
    std::uint64_t foreign() { return queue.counters().bypassed[OLAF_BYPASS_FOREIGN]; }

  private:
    void disown(std::uint8_t host) {
        const auto address = host_of_servers(GetParam(), host);
        olaf_own_address key{};
        if (GetParam() == 4) {
            key.words_be[2] = htonl(0xffff);
            key.words_be[3] = address.words_be[0];
        } else {
            std::ranges::copy(address.words_be, key.words_be);
        }
        EXPECT_EQ(bpf_map_delete_elem(queue.queue().map_fd("olaf_own"), &key), 0);
    }
};

INSTANTIATE_TEST_SUITE_P(OfBothFamilies, RoundsInPassing, both_families, family_name);

TEST_P(RoundsInPassing, WhatIsForTheParentIsAddedHereAndGoesUpAsOne) {
    auto expected = result(own_rank, {0, 1}, 0);
    expected.type = OLAF_CONTRIBUTION;
    expected.generation = parent_generation;
    expected.pool = 0;
    EXPECT_EQ(complete_in_passing(0), expected);
    EXPECT_EQ(counters().added, 2u);
    EXPECT_EQ(foreign(), 0u);
}

TEST_P(RoundsInPassing, ResultsComeFromTheAddressThatChildrenSendTo) {
    complete_in_passing(0);
    // sent_to() compares source and port with where the child's frames go.
    EXPECT_EQ(sent_to(0, tell(parents_result(0)), GetParam()), for_child(0, parents_result(0)));
    EXPECT_EQ(sent_to(1, pass(contribution(0, 1)), GetParam()), for_child(1, parents_result(0)));
    EXPECT_EQ(counters().completed, 1u);
}

TEST_P(RoundsInPassing, TheNodeAnswersWhereToBeginAndAsksItsParentItself) {
    auto waiting = job();
    waiting.state = OLAF_JOB_SYNCING;
    set_job(waiting);
    const auto sync = [&](std::uint32_t rank) {
        return pass({.type = OLAF_CONTROL, .flags = 0, .rank = rank, .round = 5, .count = OLAF_CONTROL_SYNC,
                     .generated_ns = 77, .chunks = 0, .generation = 0, .pool = 2, .lanes = process(rank)});
    };
    const auto answer = sent_back(sync(0));
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->message.type, OLAF_CONTROL);
    EXPECT_EQ(answer->message.flags, OLAF_FLAG_ANSWER);
    EXPECT_EQ(answer->message.exponent, OLAF_CONTROL_WAIT);
    EXPECT_EQ(answer->message.rank, 1u) << "who hasn't asked yet";
    expect_from_parents_address(answer->frame);
    EXPECT_EQ(sent_up(sync(1)).rank, own_rank) << "the question is the node's own now";
}

TEST_P(RoundsInPassing, WhatIsForAnotherAddressGoesOn) {
    const auto ran = pass(contribution(0, 0), another_host);
    EXPECT_STREQ(verdict_name(ran.verdict), "XDP_PASS");
    EXPECT_EQ(foreign(), 1u);
    EXPECT_EQ(counters().received, 0u);
}

TEST_P(RoundsInPassing, AQuestionOfAnotherVersionForAnotherAddressIsNotAnswered) {
    Bytes question = message(JobMessage{.type = OLAF_CONTROL, .flags = 0, .count = OLAF_CONTROL_SYNC, .lanes = process(0)});
    question[offsetof(olaf_header, version)] = OLAF_ROUNDS_VERSION + 1;
    const auto to = [&](std::uint8_t host) { return path_of(0, GetParam()).target(host).carrying(question); };
    dropped(queue.offer(to(another_host)));
    EXPECT_STREQ(verdict_name(queue.offer(to(1)).verdict), "XDP_TX");
    EXPECT_EQ(queue.counters().malformed[OLAF_MALFORMED_VERSION], 2u);
}

TEST_P(RoundsInPassing, AResultForTheParentGoesOnAndIsNoneOfThisNodes) {
    complete_in_passing(0);
    auto forged = parents_result(0);
    EXPECT_STREQ(verdict_name(pass(forged).verdict), "XDP_PASS");
    EXPECT_EQ(foreign(), 1u);
    EXPECT_EQ(slot(0).buffer[0].state, OLAF_ROUND_UP);
}

TEST_P(RoundsInPassing, AtTheRootNothingIs) {
    auto root = job();
    root.setup.parent_family = 0;
    set_job(root);
    EXPECT_STREQ(verdict_name(pass(contribution(0, 0)).verdict), "XDP_PASS");
    EXPECT_EQ(foreign(), 1u);
    EXPECT_EQ(counters().received, 0u);
}

// ---- A node whose parent is behind another device than its children: XDP hands TC what goes up, and TC
// takes what comes down at the parent's device.

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
        if (message.type != OLAF_CONTROL)
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

INSTANTIATE_TEST_SUITE_P(OfBothFamilies, RoundsTwoArmed, both_families, family_name);

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

/// The workers ask where to begin.
class RoundsTwoArmedAgrees : public RoundsTwoArmed {
  protected:
    RoundsTwoArmedAgrees() {
        auto waiting = job();
        waiting.state = OLAF_JOB_SYNCING;
        set_job(waiting);
    }
    static JobMessage sync(std::uint32_t rank, std::uint64_t stamp, std::uint64_t session = 0) {
        return {.type = OLAF_CONTROL, .flags = 0, .rank = rank, .round = 5,
                .count = OLAF_CONTROL_SYNC, .generated_ns = stamp, .chunk = 2,
                .chunks = 0, .generation = 0, .pool = 1, .lanes = process(rank, session)};
    }
    /// Both do, the second one last; what the node asks its parent then.
    JobMessage both_ask(std::uint64_t first_session = 0, std::uint64_t second_session = 0) {
        EXPECT_TRUE(sent_back(offer(sync(0, 50, first_session))));
        const auto question = onward(offer(sync(1, 51, second_session)));
        EXPECT_TRUE(question);
        return question ? question->message : JobMessage{};
    }
    static JobMessage answer_to(JobMessage question, olaf_control_status status, std::uint64_t session) {
        question.flags = OLAF_FLAG_ANSWER;
        question.generation = 78;
        question.exponent = static_cast<std::int16_t>(status);
        question.rank = own_rank;
        question.lanes = {0, session, some_run.training, some_run.number};
        return question;
    }
    /// What the parent's answer becomes: a frame to the second child.
    std::optional<ReceivedJobMessage> told(const JobMessage &answer) {
        const auto ran = run_tc(queue.queue().program_fd("olaf_parent_in"),
                                down().carrying(answer).bytes, net.far);
        EXPECT_EQ(ran.verdict, std::uint32_t{TC_ACT_REDIRECT});
        std::string why;
        auto received = parse_job_message(ran.bytes, &why);
        EXPECT_TRUE(received) << why;
        if (received) {
            EXPECT_EQ(received->port, 41001);
            EXPECT_EQ(received->message.generated_ns, 51u);
            expect_protected(*received);
        }
        return received;
    }
};

INSTANTIATE_TEST_SUITE_P(OfBothFamilies, RoundsTwoArmedAgrees, both_families, family_name);

TEST_P(RoundsTwoArmedAgrees, TheNodeNamesItsParentsGenerationIfAllItsMembersWereToldDone) {
    EXPECT_NE(job().parent_generation, 0u);
    EXPECT_EQ(both_ask(9, 9).generation, job().parent_generation);
}

/// The parent may have made sums without those who weren't.
TEST_P(RoundsTwoArmedAgrees, TheNodeNamesNoGenerationOfItsParentsIfAMemberWasNotToldDone) {
    auto value = job();
    value.last_run.generation = 4;
    set_job(value);
    EXPECT_EQ(both_ask(9, 9).generation, 0u);
}

TEST_P(RoundsTwoArmedAgrees, TheNodeAsksItsParentAndTheAnswerGoesToTheChildThatAskedLast) {
    const auto question = both_ask();
    EXPECT_EQ(question.rank, own_rank);
    EXPECT_EQ(question.chunk, 2u);
    EXPECT_EQ(question.flags, OLAF_FLAG_ANEW);
    EXPECT_EQ(question.lanes, (std::vector<std::uint64_t>{process(0)[0] + process(1)[0], 0, some_run.training, some_run.number}));
    const auto got = told(answer_to(question, OLAF_CONTROL_DONE, 0x1234567890abcdef));
    ASSERT_TRUE(got);
    EXPECT_EQ(got->message.rank, 1u);
    EXPECT_EQ(got->message.exponent, OLAF_CONTROL_DONE);
    EXPECT_EQ(got->message.lanes, (std::vector<std::uint64_t>{0, 0x1234567890abcdef, some_run.training, some_run.number}));
    EXPECT_EQ(job().state, OLAF_JOB_RUNNING);
    EXPECT_EQ(job().parent_generation, 78u);
    EXPECT_EQ(job().session.id, 0x1234567890abcdefu);
}

TEST_P(RoundsTwoArmedAgrees, ThatTheSessionIsOverGoesToTheChildThatIsInIt) {
    const auto question = both_ask(77, 77);
    EXPECT_EQ(question.flags, 0);
    EXPECT_EQ(question.lanes[OLAF_SYNC_SESSION], 77u);
    auto over = answer_to(question, OLAF_CONTROL_OVER, 0);
    over.rank = 5; // has begun anew there
    const auto got = told(over);
    ASSERT_TRUE(got);
    EXPECT_EQ(got->message.exponent, OLAF_CONTROL_OVER);
    EXPECT_EQ(got->message.flags, OLAF_FLAG_ANSWER | OLAF_FLAG_ABOVE);
    EXPECT_EQ(got->message.rank, 5u);
    EXPECT_EQ(got->message.lanes, (std::vector<std::uint64_t>{0, 0, some_run.training, some_run.number}));
    EXPECT_EQ(job().state, OLAF_JOB_SYNCING);
}

TEST_P(RoundsTwoArmedAgrees, AnAnswerToAnEarlierQuestionBlamesNobody) {
    const auto question = both_ask(77, 77);
    auto earlier = answer_to(question, OLAF_CONTROL_OVER, 0);
    earlier.rank = 5;
    earlier.generated_ns--;
    EXPECT_EQ(comes_in(earlier), std::uint32_t{TC_ACT_SHOT});
    auto over = answer_to(question, OLAF_CONTROL_OVER, 0);
    over.rank = 6;
    const auto got = told(over);
    ASSERT_TRUE(got);
    EXPECT_EQ(got->message.rank, 6u);
}

TEST_P(RoundsTwoArmedAgrees, ThatTheSessionIsOverMakesWhoIsNewWait) {
    const auto question = both_ask(77, 0);
    EXPECT_EQ(question.flags, OLAF_FLAG_ANEW);
    EXPECT_EQ(question.lanes[OLAF_SYNC_SESSION], 77u);
    const auto got = told(answer_to(question, OLAF_CONTROL_OVER, 0));
    ASSERT_TRUE(got);
    EXPECT_EQ(got->message.exponent, OLAF_CONTROL_WAIT);
    EXPECT_EQ(got->message.flags, OLAF_FLAG_ANSWER | OLAF_FLAG_ANEW);
    EXPECT_EQ(got->message.rank, 0u) << "who must begin anew here";
    EXPECT_EQ(got->message.chunks, 1u);
}

TEST_P(RoundsTwoArmedAgrees, AnAnswerWhoseSessionIsDamagedIsDroppedAndCounted) {
    const auto answer = answer_to(both_ask(), OLAF_CONTROL_DONE, 77);
    auto damaged = down().carrying(answer);
    damaged.bytes.back() ^= 1;
    EXPECT_EQ(comes_in(damaged), std::uint32_t{TC_ACT_SHOT});
    const auto bare = down().carrying(answer);
    EXPECT_EQ(comes_in(with(bare, bare.l4 + 6, 0, 2)), std::uint32_t{TC_ACT_SHOT});
    EXPECT_EQ(queue.counters().malformed[OLAF_MALFORMED_UDP_CHECKSUM], 2u);
    for (const std::size_t lanes : {0u, 1u, 3u, 5u}) {
        auto other = answer;
        other.lanes.assign(lanes, 0);
        EXPECT_EQ(comes_in(other), std::uint32_t{TC_ACT_SHOT});
    }
    EXPECT_EQ(queue.counters().malformed[OLAF_MALFORMED_LANES], 4u);
    EXPECT_EQ(job().state, OLAF_JOB_SYNCING);
}

} // namespace
} // namespace olaf::test::rounds_tree_test
