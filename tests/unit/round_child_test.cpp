// SPDX-License-Identifier: BSD-2-Clause
// A worker's side of a job, step by step. tests/model has it among others, in all weathers.
#include "round_child_test.hpp"

namespace olaf::test::round_child_test {
namespace {

using namespace olaf;
using namespace olaf::test;

TEST_F(RoundChildTest, AsksFirstThenSendsWhatTheWindowAllows) {
    EXPECT_FALSE(child.next(now, 0)) << "nothing to do";
    EXPECT_EQ(child.wakes_at(), RoundChild::kNever);
    child.add(5, 0, 77);
    const auto asked = question().value();
    EXPECT_EQ(asked.stamp, 1000);
    EXPECT_EQ(asked.generation, 0U);
    EXPECT_EQ(asked.pool, 5);
    EXPECT_FALSE(question()) << "not before the time is over";
    now = child.wakes_at();
    run(1);
    const auto first = contribution().value();
    EXPECT_EQ(first.generation, 50U);
    EXPECT_EQ(first.exponent, 7);
    EXPECT_EQ(first.generated_ns, 77);
    EXPECT_FALSE(first.flush);
    EXPECT_TRUE(contribution().value().flush) << "two chunks are all that it may send";
    EXPECT_FALSE(contribution());
    give_result(1, 5);
    EXPECT_FALSE(contribution()) << "chunk 2 has the slot of chunk 0, which isn't there";
    give_result(0, 5);
    EXPECT_EQ(contribution().value().chunk, 2U);
    EXPECT_EQ(vectors.taken, (std::vector<std::uint32_t>{1, 0}));
}

TEST_F(RoundChildTest, AResultForAllIsNotItsOwn) {
    child.add(1, 0, 0);
    run(1);
    ASSERT_TRUE(contribution());
    auto for_all = result(0, 1);
    for_all.rank = OLAF_EVERY_WORKER;
    give(encode(for_all), {9, 9});
    EXPECT_TRUE(vectors.taken.empty()) << "it hears no group";
    EXPECT_EQ(child.stats().rejected[Reject::not_addressed], 1U);
}

struct RoundChildInGroupTest : RoundChildTest {
    RoundChildInGroupTest() : RoundChildTest({.job = 3, .rank = 1, .lanes = 2, .pool = 5,
                                              .hears_group = true}) {}
};

TEST_F(RoundChildInGroupTest, TakesAResultForAll) {
    child.add(1, 0, 0);
    run(1);
    ASSERT_TRUE(contribution());
    auto for_all = result(0, 1);
    for_all.rank = OLAF_EVERY_WORKER;
    give(encode(for_all), {9, 9});
    EXPECT_EQ(vectors.taken, std::vector<std::uint32_t>{0});
}

TEST_F(RoundChildTest, PacksWhatFollowsFromAResultOnlyThen) {
    child.add(4, 2, 0);
    run(3);
    EXPECT_FALSE(contribution().value().flush);
    EXPECT_TRUE(contribution().value().flush);
    EXPECT_FALSE(contribution());
    give_result(0, 4);
    EXPECT_EQ(contribution().value().chunk, 2U);
    EXPECT_FALSE(contribution());
}

TEST_F(RoundChildTest, AStaleOfThisGenerationIsAMissAndAnotherIsAQuestion) {
    child.add(2, 0, 0);
    run(1);
    ASSERT_TRUE(contribution() && contribution());
    RoundResult stale = {
        .job = 3, .rank = 1, .count = 49, .chunks = 2, .generation = 60, .stale = true};
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

TEST_F(RoundChildTest, ProbesForWhatItHasNoPartOf) {
    vectors.has_none = 1;
    child.add(3, 0, 0);
    run(2);
    EXPECT_EQ(contribution().value().lanes, 2);
    const auto probe = contribution().value();
    EXPECT_EQ(probe.lanes, 0);
    EXPECT_TRUE(probe.flush) << "its frame carries nothing of others";
    EXPECT_EQ(contribution().value().lanes, 2);
    give_result(1, 3);
    EXPECT_EQ(vectors.taken, std::vector<std::uint32_t>{1});
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
            if (const auto sync = decode_sync(std::as_bytes(std::span(&sending->header, 1))))
                asked = *sync;
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
        const std::size_t lanes = !child.is_running() ? 0 : random() % 8 == 0 ? random() % 4 : 2;
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

TEST_F(RoundChildTest, BeginsAgainWhereAllBegin) {
    child.add(3, 0, 0);
    run(2);
    ASSERT_TRUE(contribution() && contribution() && contribution());
    give_result(0, 3);
    give_result(1, 3);
    give(encode(RoundResult{
        .job = 3, .rank = 1, .count = 50, .chunks = 3, .generation = 60, .stale = true}));
    run(2, 0, 1);
    EXPECT_EQ(contribution().value().chunk, 1U);
    EXPECT_EQ(contribution().value().chunk, 2U);
    give_result(1, 3);
    EXPECT_EQ(vectors.taken.size(), 2U) << "handed on once";
    give_result(2, 3);
    EXPECT_TRUE(child.is_idle());
}

TEST_F(RoundChildTest, SaysWhoIsMissing) {
    child.join();
    auto asked = question().value();
    EXPECT_EQ(child.missing(now), "the node hasn't answered at all; or its parent, if it has one, is silent");
    asked.rank = 4;
    asked.missing = 3;
    answer(asked, OLAF_CONTROL_WAIT);
    EXPECT_EQ(child.missing(now),
              "rank 4 hasn't asked where to begin yet, nor have 2 other members");
    asked.above = true;
    answer(asked, OLAF_CONTROL_WAIT);
    EXPECT_EQ(child.missing(now), "rank 4 of a node above hasn't asked where to begin yet, nor have "
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

TEST_F(RoundChildTest, BlamesNoMemberThatMayHaveAskedSinceTheNodeFellSilent) {
    child.join();
    auto asked = question().value();
    asked.rank = 4;
    asked.missing = 1;
    answer(asked, OLAF_CONTROL_WAIT);
    now += std::chrono::seconds(2);
    EXPECT_EQ(child.missing(now),
              "rank 4 hasn't asked where to begin yet, by the node's last answer; the node has been silent for "
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

} // namespace
} // namespace olaf::test::round_child_test
