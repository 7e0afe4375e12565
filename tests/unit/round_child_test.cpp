// SPDX-License-Identifier: BSD-2-Clause
// A worker's side of a job, step by step, with a node that a test plays. tests/model has it among
// others, in all weathers.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <optional>
#include <random>
#include <vector>

#include "round_child.hpp"

namespace olaf::test::round_child_test {
namespace {

TEST_F(RoundChildTest, AResultForAllIsNotItsOwn) {
    child.add(1, 0, 0);
    run(1);
    ASSERT_TRUE(contribution());
    give_to_all();
    EXPECT_TRUE(vectors.taken.empty()) << "it hears no group";
    EXPECT_EQ(child.stats().rejected[Reject::not_addressed], 1U);
}

TEST_F(RoundChildTest, AStaleOfThisGenerationIsAMissAndAnotherIsAQuestion) {
    child.add(2, 0, 0);
    run(1);
    ASSERT_TRUE(contribution() && contribution());
    RoundResult stale = RoundChildTest::stale(2);
    stale.count = 49;
    give(encode(stale));
    EXPECT_TRUE(child.is_running()) << "it answers what was sent in another generation";
    stale.count = stale.generation = 50;
    give(encode(stale));
    EXPECT_EQ(vectors.missed, std::vector<std::uint32_t>{0});
    stale.generation = 60;
    give(encode(stale));
    EXPECT_FALSE(child.is_running());
    const auto asked = question().value();
    EXPECT_EQ(asked.chunk, 1U);
    EXPECT_EQ(asked.generation, 50U);
    EXPECT_EQ(asked.stamp, 1001) << "newer than the last, whatever the clock says";
}

TEST_F(RoundChildTest, AbstainsFromWhatItHasNoPartOfAndAsksForTheSum) {
    vectors.has_none = 1;
    child.add(3, 0, 0);
    run(2);
    EXPECT_EQ(contribution().value().lanes, 2);
    const auto probe = contribution().value();
    EXPECT_EQ(probe.lanes, 0);
    EXPECT_TRUE(probe.partial) << "nobody waits for it";
    EXPECT_TRUE(probe.flush) << "its frame carries nothing of others";
    const auto given = contribution().value();
    EXPECT_EQ(given.lanes, 2);
    EXPECT_FALSE(given.partial);
    give_result(1, 3);
    EXPECT_EQ(vectors.taken, std::vector<std::uint32_t>{1});
    EXPECT_EQ(child.stats().late, 1U) << "it gave nothing, whatever the node says";
    give_result(2, 3);
    EXPECT_EQ(child.stats().late, 1U);
}

TEST_F(RoundChildTest, AnyBytesAreTakenWithoutHarm) {
    std::mt19937 random(1);
    std::uint64_t results = 0, failures = 0;
    JobSync asked;
    for (int i = 0; i < 100'000; i++) {
        now += 50us;
        if (child.is_idle())
            child.add(50, random() % 5, 0);
        while (const auto sending = child.next(now, 1000))
            if (sending->header.type == OLAF_CONTROL)
                asked = decode_sync(bytes_of(*sending)).value();
        asked.answer = true;
        asked.generation = 50;
        asked.pool = 3;
        olaf_header header = encode(asked);
        if (child.is_running()) {
            RoundResult sum = result(random() % 50, 50);
            sum.round = child.next_round() - 1;
            header = encode(sum);
        }
        for (std::size_t change = random() % 3; change > 0; change--)
            reinterpret_cast<unsigned char *>(&header)[random() % sizeof(header)] =
                static_cast<unsigned char>(random());
        if (random() % 2 == 0) { // as a stranger's, which is whole
            std::array<__u64, OLAF_HEADER_WORDS> words;
            header.check = 0;
            std::memcpy(words.data(), &header, sizeof(header));
            header.check = olaf_header_parity(words.data());
        }
        const std::size_t whole = header.type == OLAF_CONTROL ? kSyncLanes : 2;
        const std::size_t lanes = random() % 8 == 0 ? random() % 6 : whole;
        give(header, std::vector<std::uint64_t>(lanes, 9));
        if (!child.failure() && i % 500 != 0) // a wrong generation may be believed
            continue;
        results += child.stats().results;
        failures += child.failure() ? 1 : 0;
        child = RoundChild({.job = 3, .rank = 1, .lanes = 2, .pool = 5}, vectors);
    }
    EXPECT_GT(results, 1000U);
    EXPECT_GT(failures, 10U);
}

TEST_F(RoundChildTest, SaysWhoIsMissing) {
    child.start();
    auto asked = question().value();
    EXPECT_EQ(child.missing(now),
              "the node hasn't answered at all; or its parent, if it has one, is silent");
    asked.rank = 4;
    asked.missing = 3;
    answer(asked, OLAF_CONTROL_WAIT);
    EXPECT_EQ(child.missing(now),
              "rank 4 hasn't asked where to begin yet, nor have 2 other members");
    asked.above = true;
    answer(asked, OLAF_CONTROL_WAIT);
    EXPECT_EQ(child.missing(now),
              "rank 4 of a node above hasn't asked where to begin yet, nor have "
              "2 other members");
    asked.above = false;
    asked.missing = 0; // at this node; its parent waits for others
    answer(asked, OLAF_CONTROL_WAIT);
    EXPECT_EQ(child.missing(now),
              "all members of this node have asked where to begin, but not all of other nodes");
    asked.rank = 1;
    answer(asked, OLAF_CONTROL_OLD);
    EXPECT_EQ(question().value().stamp, 1001) << "asks anew";
}

TEST_F(RoundChildTest, TakesNoAnswerToAnotherQuestion) {
    child.start();
    JobSync earlier = question().value();
    earlier.generation = 50;
    answer(earlier, OLAF_CONTROL_OLD);
    JobSync other = question().value();
    answer(earlier, OLAF_CONTROL_DONE);
    EXPECT_FALSE(child.is_running());
    other.action = OLAF_CONTROL_LEAVE;
    answer(other, OLAF_CONTROL_DONE);
    EXPECT_FALSE(child.has_left());
}

TEST_F(RoundChildTest, BlamesNoMemberThatMayHaveAskedSinceTheNodeFellSilent) {
    child.start();
    auto asked = question().value();
    asked.rank = 4;
    asked.missing = 1;
    answer(asked, OLAF_CONTROL_WAIT);
    now += std::chrono::seconds(2);
    EXPECT_EQ(child.missing(now),
              "rank 4 hasn't asked where to begin yet, by the node's last answer; the node has "
              "been silent for "
              "2000 ms, since when all of its members may have asked: then its parent is silent");
}

TEST_F(RoundChildTest, FailsWhenAllBeginWhereItHasNothing) {
    child.add(1, 0, 0);
    for (int i = 0; i < 3; i++) {
        EXPECT_FALSE(child.failure());
        run(0, 5, 9);
    }
    ASSERT_TRUE(child.failure());
    EXPECT_NE(child.failure()->message().find("a member began anew in the middle"),
              std::string::npos);
    EXPECT_FALSE(child.next(now, 0));
}

TEST_F(RoundChildTest, TakesNothingFromStrangers) {
    child.add(1, 0, 0);
    run(0);
    ASSERT_TRUE(contribution());
    RoundResult other = result(0, 1);
    other.job = 4;
    give(encode(other), {9, 9});
    other = result(0, 1);
    other.rank = 2;
    give(encode(other), {9, 9});
    give(encode(result(0, 1)), {9, 8});
    other = result(0, 1);
    other.lanes = 3;
    give(encode(other), {9, 9, 9});
    EXPECT_TRUE(vectors.taken.empty());
    EXPECT_EQ(child.stats().rejected[Reject::unknown_cluster], 1U);
    EXPECT_EQ(child.stats().rejected[Reject::not_addressed], 1U);
    EXPECT_EQ(child.stats().rejected[Reject::wrong_checksum], 1U);
    EXPECT_EQ(child.stats().rejected[Reject::wrong_lanes], 1U);
    other = result(0, 1);
    other.generation = 51;
    give(encode(other), {9, 9});
    EXPECT_EQ(child.stats().unasked, 1U);
    give_result(0, 1);
    EXPECT_EQ(vectors.taken.size(), 1U);
}

TEST_F(RoundChildTest, ADamagedResultIsToldAtOnceAndAFewTimes) {
    child.add(1, 0, 0);
    run(0);
    EXPECT_FALSE(contribution().value().spoilt);
    for (int times = 0; times < 4; times++) {
        EXPECT_FALSE(contribution());
        give(encode(result(0, 1)), {9, 8});
        EXPECT_TRUE(contribution().value().spoilt);
    }
    give(encode(result(0, 1)), {9, 8});
    EXPECT_FALSE(contribution());
    now += 1s;
    EXPECT_TRUE(contribution().value().spoilt);
    give_result(0, 1);
    EXPECT_EQ(vectors.taken.size(), 1U);
}

constexpr VectorKind summed = {.workers = 2, .content = OLAF_CONTENT_FLOAT_SUM, .last = 9};
constexpr VectorKind averaged = {.workers = 2, .content = OLAF_CONTENT_FLOAT_MEAN, .last = 9};
constexpr VectorKind shorter = {.workers = 2, .content = OLAF_CONTENT_FLOAT_SUM, .last = 8};

// Behind a deadline a chunk is summed without this member, whose vector nobody has compared.
TEST_F(RoundChildTest, AResultOfAnotherVectorFails) {
    child.add(1, 0, 0, summed);
    run(1);
    EXPECT_EQ(contribution().value().kind, summed);
    auto other = result(0, 1);
    other.kind = averaged;
    give(encode(other), {9, 9});
    ASSERT_TRUE(child.failure());
    EXPECT_NE(
        child.failure()->reason.find("in round 0 this member gives 1 chunks, and another one"),
        std::string::npos);
    EXPECT_TRUE(vectors.taken.empty());
}

TEST_F(RoundChildTest, AResultOfAnotherNumberOfChunksFails) {
    child.add(1, 0, 0);
    run(1);
    ASSERT_TRUE(contribution());
    give_result(0, 2);
    ASSERT_TRUE(child.failure());
    EXPECT_NE(child.failure()->reason.find("this member gives 1 chunks, and another one 2 chunks"),
              std::string::npos);
}

TEST_F(RoundChildTest, WhoGivesNothingTakesTheSumWhateverItIsDividedBy) {
    vectors.has_none = 0;
    child.add(1, 0, 0, summed);
    child.add(1, 0, 0, summed);
    run(1);
    ASSERT_EQ(contribution().value().lanes, 0);
    auto other = result(0, 1);
    other.kind = averaged;
    give(encode(other), {9, 9});
    EXPECT_FALSE(child.failure());
    ASSERT_EQ(contribution().value().lanes, 0);
    other.round = 1;
    other.kind = shorter;
    give(encode(other), {9, 9});
    EXPECT_TRUE(child.failure());
    EXPECT_EQ(vectors.taken.size(), 1U);
}

TEST_F(RoundChildTest, HearsThatTwoOthersDifferBeforeItGivesItsOwn) {
    child.add(1, 0, 0, summed);
    run(1);
    ASSERT_TRUE(contribution());
    auto misfit = result(0, 1);
    misfit.round = 5;
    misfit.kind = summed;
    misfit.misfit = VectorIdentity{.chunks = 1, .kind = averaged};
    misfit.generation = 49;
    give(encode(misfit), {9, 10});
    EXPECT_FALSE(child.failure()) << "that was in another generation";
    misfit.generation = 50;
    give(encode(misfit), {9, 10});
    ASSERT_TRUE(child.failure());
    EXPECT_NE(child.failure()->reason.find("in round 5 one member gives"), std::string::npos);
}

TEST_F(RoundChildTest, WhoLeavesNamesTheFirstRoundThatItIsntIn) {
    child.add(1, 0, 0);
    run(1);
    ASSERT_TRUE(contribution());
    give_result(0, 1);
    ASSERT_TRUE(child.is_idle());
    child.leave();
    JobSync asked = question().value();
    EXPECT_EQ(asked.action, OLAF_CONTROL_LEAVE);
    EXPECT_EQ(asked.round, 1U);
    answer(asked, OLAF_CONTROL_WAIT);
    EXPECT_FALSE(child.has_left());
    answer(asked, OLAF_CONTROL_DONE);
    EXPECT_TRUE(child.has_left());
    EXPECT_FALSE(child.next(now + 1s, 2000));
}

TEST_F(RoundChildTest, WhoLeavesFollowsTheJobsGeneration) {
    child.add(1, 0, 0);
    run(1);
    ASSERT_TRUE(contribution());
    give_result(0, 1);
    child.leave();
    JobSync asked = question().value();
    EXPECT_EQ(asked.generation, 50U);
    asked.generation = 51; // the job was stopped since
    answer(asked, OLAF_CONTROL_OLD);
    now += 5ms;
    asked = question().value();
    EXPECT_EQ(asked.action, OLAF_CONTROL_LEAVE);
    EXPECT_EQ(asked.round, 1U);
    EXPECT_EQ(asked.generation, 51U);
    answer(asked, OLAF_CONTROL_DONE);
    EXPECT_TRUE(child.has_left());
}

// As a node that was restarted says: it doesn't know this member.
TEST_F(RoundChildTest, WhoLeavesAsksFirstWhereItIsNotToldTheGeneration) {
    child.add(1, 0, 0);
    run(1);
    ASSERT_TRUE(contribution());
    give_result(0, 1);
    child.leave();
    JobSync asked = question().value();
    asked.generation = 0;
    answer(asked, OLAF_CONTROL_OLD);
    now += 5ms;
    asked = question().value();
    EXPECT_EQ(asked.action, OLAF_CONTROL_SYNC);
    EXPECT_EQ(asked.generation, 50U) << "in which it was told DONE last";
    asked.generation = 60;
    answer(asked, OLAF_CONTROL_WAIT);
    now += 5ms;
    asked = question().value();
    EXPECT_EQ(asked.action, OLAF_CONTROL_LEAVE);
    EXPECT_EQ(asked.round, 1U);
    EXPECT_EQ(asked.generation, 60U);
    answer(asked, OLAF_CONTROL_WAIT);
    EXPECT_FALSE(child.has_left());
}

TEST_F(RoundChildTest, WhoLeavesAndIsNoMemberWhereItAsksHasLeft) {
    child.add(1, 0, 0);
    run(1);
    ASSERT_TRUE(contribution());
    give_result(0, 1);
    child.leave();
    JobSync asked = question().value();
    asked.generation = 0;
    answer(asked, OLAF_CONTROL_OLD);
    now += 5ms;
    asked = question().value();
    asked.generation = 60;
    answer(asked, OLAF_CONTROL_GONE);
    EXPECT_TRUE(child.has_left());
}

TEST_F(RoundChildTest, WhoIsNoMemberAnyMoreFailsAndSaysSo) {
    child.add(1, 0, 0);
    run(1);
    ASSERT_TRUE(contribution());
    JobSync gone = {.action = OLAF_CONTROL_LEAVE, .job = 3, .rank = 1, .generation = 49};
    answer(gone, OLAF_CONTROL_GONE);
    EXPECT_FALSE(child.failure()) << "of another generation";
    gone.generation = 50;
    answer(gone, OLAF_CONTROL_GONE);
    ASSERT_TRUE(child.failure());
    EXPECT_NE(child.failure()->reason.find("no member"), std::string::npos);
}

// A worker of a job whose others go on without it.

struct RoundChildBehindTest : RoundChildTest {
    RoundChildBehindTest()
        : RoundChildTest({.job = 3, .rank = 1, .lanes = 2, .workers = 2, .pool = 5}) {}

    /// Vector 0, of one chunk, is summed.
    void sum_one() {
        child.add(1, 0, 0);
        run(2);
        ASSERT_TRUE(contribution());
        give_result(0, 1);
        ASSERT_TRUE(child.is_idle());
    }
    RoundResult last_of(std::uint32_t round) const {
        RoundResult last = result(1, 2);
        last.round = round;
        return last;
    }
};

// Three vectors of two chunks, and a window of four: what it waits for isn't the window.
TEST_F(RoundChildBehindTest, SaysThatItWaitsWhereASumIsWithoutSomebody) {
    auto whole = result(0, 2), partial = whole, late = whole, few = whole;
    partial.partial = true;
    late.late = true;
    few.count = 1;
    for (const auto &[sum, waits] : {std::pair{whole, false}, std::pair{partial, true},
                                     std::pair{late, true}, std::pair{few, true}}) {
        child = RoundChild({.job = 3, .rank = 1, .lanes = 2, .workers = 2, .pool = 5}, vectors);
        for (int i = 0; i < 3; i++)
            child.add(2, 0, 0);
        run(2);
        EXPECT_FALSE(contribution().value().flush);
        EXPECT_FALSE(contribution().value().flush) << "each result lets another chunk be sent";
        ASSERT_FALSE(contribution());
        give(encode(sum), {9, 9});
        EXPECT_EQ(contribution().value().flush, waits);
    }
}

TEST_F(RoundChildBehindTest, KnowsHowFarTheOthersAre) {
    sum_one();
    EXPECT_EQ(child.behind(), 0U);
    give(encode(last_of(3)), {9, 8});
    EXPECT_EQ(child.behind(), 0U) << "its checksum is wrong";
    give(encode(result(0, 2)), {9, 9});
    EXPECT_EQ(child.behind(), 0U) << "it isn't the last chunk, and of an old round";
    give(encode(last_of(3)), {9, 9});
    EXPECT_EQ(child.behind(), 3U) << "rounds 1, 2 and 3";
    give(encode(last_of(2)), {9, 9});
    EXPECT_EQ(child.behind(), 3U);
    child.add(2, 0, 0);
    EXPECT_EQ(child.behind(), 2U);
}

// Others may lack what this one didn't want: it has nothing to give there, and goes on.
TEST_F(RoundChildBehindTest, ProbesForWhatItSkippedWhereAllBeginBeforeIt) {
    sum_one();
    child.skip(1);
    child.add(1, 0, 0);
    ASSERT_EQ(contribution().value().round, 2U);
    give(encode(stale(1, 2)));
    ASSERT_FALSE(child.is_running());
    run(2, 1);
    const auto probe = contribution().value();
    EXPECT_EQ(probe.round, 1U);
    EXPECT_EQ(probe.lanes, 0);
    EXPECT_TRUE(probe.partial) << "nobody waits for it";
    EXPECT_FALSE(contribution()) << "round 2 has the same slot";
    RoundResult skipped = result(0, 1);
    skipped.round = 1;
    give(encode(skipped), {9, 9});
    const auto own = contribution().value();
    EXPECT_EQ(own.round, 2U);
    EXPECT_EQ(own.lanes, 2);
    EXPECT_EQ(vectors.taken.size(), 1U) << "what was skipped isn't handed on";
}

// That frames as long as a contribution reach the node and come back.

TEST_F(RoundChildSession, NamesNoneAtFirstAndThenTheOneThatItWasTold) {
    child.add(1, 0, 0);
    const auto first = question().value();
    EXPECT_EQ(first.incarnation, 77U);
    EXPECT_EQ(first.session, 0U);
    EXPECT_FALSE(first.anew) << "a node's flag";
    begin();
    EXPECT_EQ(child.session(), 99U);
    ASSERT_TRUE(contribution());
    const auto second = asked_anew();
    EXPECT_EQ(second.incarnation, 77U);
    EXPECT_EQ(second.session, 99U);
}

TEST_F(RoundChildSession, FailsAtOnceWhenItIsOverAndNamesTheRank) {
    sum_one_of_two();
    JobSync over = asked_anew();
    over.rank = 3;
    answer(over, OLAF_CONTROL_OVER);
    ASSERT_TRUE(child.failure());
    EXPECT_TRUE(child.failure()->reason.starts_with("rank 3 has begun anew"))
        << child.failure()->reason;
    EXPECT_FALSE(child.next(now + 1s, 2000));
}

TEST_F(RoundChildSession, IsNotOverByAnAnswerToAnEarlierQuestion) {
    child.add(1, 0, 0);
    JobSync earlier = question().value();
    begin();
    ASSERT_TRUE(contribution());
    ASSERT_NE(asked_anew().stamp, earlier.stamp);
    answer(earlier, OLAF_CONTROL_OVER);
    EXPECT_FALSE(child.failure());
}

TEST_F(RoundChildSession, NamesARankOfANodeAboveOrNone) {
    for (const auto &[rank, above, who] :
         {std::tuple(2U, true, "rank 2 of a node above has begun anew"),
          {std::uint32_t{OLAF_EVERY_RANK}, false, "another member has begun anew"}}) {
        child = RoundChild({.job = 3, .rank = 1, .lanes = 2, .pool = 5}, vectors);
        vectors.taken.clear();
        sum_one_of_two();
        JobSync over = asked_anew();
        over.rank = rank;
        over.above = above;
        answer(over, OLAF_CONTROL_OVER);
        ASSERT_TRUE(child.failure());
        EXPECT_TRUE(child.failure()->reason.starts_with(who)) << child.failure()->reason;
    }
}

TEST_F(RoundChildSession, WhoLacksOnlyTheFarewellHasNothingToLose) {
    sum_one_of_two();
    child.add_farewell(0);
    RoundResult second = result(0, 1);
    second.round = 1;
    give(encode(second), {9, 9});
    ASSERT_EQ(contribution().value().chunks, kFarewellChunks);
    answer(asked_anew(), OLAF_CONTROL_OVER);
    EXPECT_FALSE(child.failure());
    EXPECT_EQ(vectors.missed, std::vector<std::uint32_t>{0});
    EXPECT_FALSE(child.next(now + 1s, 2000));
}

TEST_F(RoundChildSession, WhoLacksASumBeforeTheFarewellFails) {
    sum_one_of_two();
    child.add_farewell(0);
    answer(asked_anew(), OLAF_CONTROL_OVER);
    EXPECT_TRUE(child.failure());
}

// The rank's last process had a clock that was ahead, or somebody sent a frame in its name.
TEST_F(RoundChildSession, AsksByANewerStampThanTheNodeKnows) {
    child.start();
    JobSync old = question().value();
    const std::int64_t hour = 3'600'000'000'000;
    old.session = static_cast<std::uint64_t>(old.stamp + hour);
    answer(old, OLAF_CONTROL_OLD);
    JobSync newer = question().value();
    EXPECT_EQ(newer.stamp, old.stamp + hour + 1);
    newer.session = UINT64_MAX;
    answer(newer, OLAF_CONTROL_OLD);
    EXPECT_EQ(question().value().stamp, INT64_MAX);
}

TEST_F(RoundChildSession, AsksTwoHundredTimesASecondAtMostWhateverIsAnswered) {
    for (const auto status : {OLAF_CONTROL_OLD, OLAF_CONTROL_WAIT}) {
        child = RoundChild({.job = 3, .rank = 1, .lanes = 2, .pool = 5}, vectors);
        child.start();
        unsigned questions = 0;
        for (const auto end = now + 1s; now < end; now += 10us)
            if (const auto asked = message()) {
                questions++;
                answer(decode_sync(*asked).value(), status);
            }
        EXPECT_GE(questions, 20U) << status;
        EXPECT_LE(questions, 200U) << status;
    }
}

// A member that has given no vector yet is as if it had asked later.
TEST_F(RoundChildSession, WithoutAVectorInItIsOverWithoutHarm) {
    child.start();
    begin();
    answer(asked_anew(), OLAF_CONTROL_OVER);
    ASSERT_FALSE(child.failure()) << child.failure()->reason;
    EXPECT_EQ(child.session(), 0U);
    JobSync again = question().value();
    EXPECT_EQ(again.session, 0U);
    EXPECT_EQ(again.incarnation, 77U);
    agree(again, 60, 100);
    EXPECT_EQ(child.session(), 100U);
    child.add(1, 0, 0);
    EXPECT_EQ(contribution().value().generation, 60U);
}

// Others may have failed with that vector, and give another one to the next session.
TEST_F(RoundChildSession, WithAVectorInItIsOverWithAnError) {
    child.add(1, 0, 0);
    begin();
    ASSERT_TRUE(contribution());
    answer(asked_anew(), OLAF_CONTROL_OVER);
    EXPECT_TRUE(child.failure());
}

TEST_F(RoundChildSession, OfAMemberThatJoinedHarmsIt) {
    child.join();
    begin();
    child.add(1, 0, 0);
    ASSERT_TRUE(contribution());
    answer(asked_anew(), OLAF_CONTROL_OVER);
    EXPECT_TRUE(child.failure());
}

TEST_F(RoundChildSession, WhoHasBegunAnewSaysWhomItWaitsFor) {
    child.start();
    JobSync wait = question().value();
    wait.rank = 0;
    wait.missing = 1;
    wait.anew = true;
    answer(wait, OLAF_CONTROL_WAIT);
    EXPECT_EQ(child.missing(now),
              "rank 0 must start() again: it was summing with a member that has begun anew since");
}

TEST_F(RoundChildSession, IsNotBroughtForwardByAgreeingAgain) {
    child.add(1, 0, 0);
    begin();
    const auto began = child.last_progress();
    EXPECT_EQ(began, now);
    ASSERT_TRUE(contribution());
    now += 1s;
    JobSync again = asked_anew();
    again.missing = 1;
    answer(again, OLAF_CONTROL_WAIT);
    agree(again, 60, 99);
    EXPECT_TRUE(child.is_running());
    EXPECT_TRUE(child.all_are_there());
    EXPECT_EQ(child.last_progress(), began);
    EXPECT_NE(child.missing(now).find("no sum has come since"), std::string::npos);
    ASSERT_TRUE(contribution());
    RoundResult sum = result(0, 1);
    sum.generation = 60;
    give(encode(sum), {9, 9});
    EXPECT_EQ(child.last_progress(), now);
    EXPECT_FALSE(child.all_are_there());
}

TEST_F(RoundChildSession, BeginsNearerWithEachMemberThatCame) {
    child.start();
    JobSync wait = question().value();
    for (const auto &[missing, is_news] :
         {std::pair(3U, true), {3U, false}, {1U, true}, {2U, false}, {1U, false}}) {
        now += 1s;
        wait.missing = missing;
        answer(wait, OLAF_CONTROL_WAIT);
        EXPECT_EQ(child.last_progress() == now, is_news) << missing;
    }
}

TEST_F(RoundChildSession, WhoJoinsIsToldTheGenerationAndThenTheSessionOfThoseWhoAreThere) {
    child.join();
    JobSync asked = question().value();
    EXPECT_EQ(asked.generation, 0U);
    asked.generation = 50;
    answer(asked, OLAF_CONTROL_OLD);
    now += 5ms;
    asked = question().value();
    EXPECT_EQ(asked.action, OLAF_CONTROL_JOIN);
    EXPECT_EQ(asked.generation, 50U);
    EXPECT_EQ(child.told_generation(), 50U);
    EXPECT_EQ(asked.incarnation, 77U);
    agree(asked, 50, 99);
    EXPECT_EQ(child.session(), 99U);
}

struct RoundChildProof : RoundChildTest {
    RoundChildProof() : RoundChildTest({.job = 3, .rank = 1, .lanes = 8, .pool = 5}) {
        child.start();
        run(0);
        child.prove_way();
    }
    /// Until a question would be sent.
    void wait() { now = std::max(now, child.wakes_at()); }
};

TEST_F(RoundChildProof, IsOneLongQuestionWhereNothingIsLost) {
    const auto asked = question().value();
    EXPECT_EQ(asked.padding, child.lanes());
    EXPECT_FALSE(message()) << "before its time";
    EXPECT_FALSE(child.is_way_proven());
    answer(asked, OLAF_CONTROL_DONE);
    EXPECT_TRUE(child.is_way_proven());
    EXPECT_TRUE(child.is_running());
    EXPECT_EQ(child.generation(), 50U) << "nobody began anew";
    EXPECT_FALSE(question());
    EXPECT_EQ(child.wakes_at(), RoundChild::kNever);
}

TEST_F(RoundChildProof, RepeatsTheLastQuestionSoThatNothingChanges) {
    const auto asked = question().value();
    wait();
    auto second = question().value();
    EXPECT_EQ(second.padding, kSyncLanes) << "long and short ones in turn";
    second.padding = asked.padding;
    EXPECT_EQ(second.stamp, asked.stamp);
    EXPECT_EQ(second.action, OLAF_CONTROL_SYNC);
    EXPECT_EQ(std::tie(second.round, second.chunk, second.generation),
              std::tie(asked.round, asked.chunk, asked.generation));
    EXPECT_EQ(child.stats().agreed, 1U);
}

// The job was stopped meanwhile: that is told by the next STALE.
TEST_F(RoundChildProof, IsGivenByAnyAnswerOfThatLength) {
    answer(question().value(), OLAF_CONTROL_OLD);
    EXPECT_TRUE(child.is_way_proven());
    EXPECT_TRUE(child.is_running());
}

TEST_F(RoundChildProof, IsNotGivenByAnAnswerToAnotherQuestion) {
    auto other = question().value();
    other.stamp--;
    answer(other, OLAF_CONTROL_DONE);
    EXPECT_FALSE(child.is_way_proven());
}

TEST_F(RoundChildProof, FailsWhereOnlyShortQuestionsAreAnswered) {
    const auto began = now;
    for (int sent = 0; !child.is_way_too_narrow(); sent++) {
        ASSERT_LT(sent, 40);
        wait();
        if (const auto asked = question(); asked->padding == kSyncLanes)
            answer(*asked, OLAF_CONTROL_DONE);
    }
    EXPECT_FALSE(child.is_way_proven());
    EXPECT_LT(now - began, 2s) << "long before time is up";
}

// Short answers to a new question, while not all have asked, say nothing of the way.
TEST_F(RoundChildProof, BeginsAnewWhereTheJobWasStopped) {
    child.add(1, 0, 0);
    ASSERT_TRUE(question()); // lost
    give(encode(stale(1)));
    for (int sent = 0; sent < 40; sent++) {
        wait();
        answer(question().value(), OLAF_CONTROL_WAIT);
        ASSERT_FALSE(child.is_way_too_narrow());
    }
}

TEST_F(RoundChildProof, WaitsForANodeThatIsSilent) {
    for (int sent = 0; sent < 1000; sent++) {
        wait();
        ASSERT_TRUE(question());
    }
    EXPECT_FALSE(child.is_way_too_narrow());
    EXPECT_FALSE(child.is_way_proven());
    EXPECT_NE(child.missing(now).find("silent"), std::string::npos) << child.missing(now);
}

TEST_F(RoundChildProof, HoldsNoContributionUp) {
    child.add(2, 0, 0);
    ASSERT_TRUE(question());
    EXPECT_EQ(contribution().value().chunk, 0U);
    wait();
    ASSERT_TRUE(question());
    give_result(0, 2);
    EXPECT_EQ(contribution().value().chunk, 1U);
}

// Nothing more is sent until results come, and results may wait for frames.
TEST_F(RoundChildTest, FlushesWithTheLastChunkThatTheCongestionWindowLetsGo) {
    child = RoundChild({.job = 3, .rank = 1, .lanes = 2, .pool = 10}, vectors);
    child.add(200, 0, 0);
    run(10);
    std::vector<bool> flushes;
    while (const auto sent = contribution())
        flushes.push_back(sent->flush);
    ASSERT_EQ(flushes.size(), CongestionWindow::kFirst);
    EXPECT_TRUE(flushes.back());
    EXPECT_EQ(std::ranges::count(flushes, true), 1);
}

// The second half of a short vector may be spared: then no frame follows that could bring what is
// owed.
TEST_F(RoundChildTest, FlushesBehindAShortVectorsFirstHalfThoughTheWindowIsFull) {
    constexpr std::uint32_t half = CongestionWindow::kFirst + 10;
    child = RoundChild({.job = 3, .rank = 1, .lanes = 2, .pool = 10}, vectors);
    child.add(2 * half, half, 0);
    run(10);
    for (std::uint32_t chunk = 0; chunk < CongestionWindow::kFirst; chunk++)
        ASSERT_EQ(contribution().value().flush, chunk + 1 == CongestionWindow::kFirst)
            << "the first window";
    ASSERT_FALSE(contribution());
    // Each result lets one more go, and the window is full again. Each spares a chunk of the second
    // half.
    vectors.sparing = true;
    for (std::uint32_t chunk = CongestionWindow::kFirst; chunk < half; chunk++) {
        now += 1ms;
        RoundResult brought = result(chunk - CongestionWindow::kFirst, 2 * half);
        brought.exponent = 1;
        give(encode(brought), {9, 9});
        const auto sent = contribution();
        ASSERT_TRUE(sent) << chunk;
        ASSERT_EQ(sent->chunk, chunk);
        EXPECT_EQ(sent->flush, chunk + 1 == half) << chunk;
    }
}

// When a worker sends again what nobody answered.

// Nothing tells that the first sending was answered: it may be lost each time.
TEST_F(RoundChildTest, LearnsNothingFromOneAnswerToWhatItSentTwice) {
    child.add(2, 0, 0);
    run(0);
    ASSERT_TRUE(contribution());
    now += RoundTimeout::kFirst;
    ASSERT_TRUE(contribution());
    now += 1us;
    give_result(0, 2);
    ASSERT_TRUE(contribution());
    EXPECT_EQ(child.wakes_at(), now + 2 * RoundTimeout::kFirst) << "it begins where that ended";
}

TEST_F(RoundChildTest, SendsNothingAgainWhileAnswersMayLieUnread) {
    child.add(2, 0, 0);
    run(1);
    ASSERT_TRUE(contribution());
    now += RoundTimeout::kFirst;
    const auto sending = child.next(now, 1000, false);
    ASSERT_TRUE(sending) << "what is new may go";
    EXPECT_EQ(child.stats().repeated, 0U);
    EXPECT_FALSE(child.next(now, 1000, false));
    EXPECT_EQ(contribution().value().chunk, 0U);
    EXPECT_EQ(child.stats().repeated, 1U);
}

} // namespace
} // namespace olaf::test::round_child_test
