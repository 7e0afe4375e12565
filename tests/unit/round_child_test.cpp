// SPDX-License-Identifier: BSD-2-Clause
// A worker's side of a job, step by step. tests/model has it among others, in all weathers.
#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <random>
#include <vector>

#include "round_child.hpp"

namespace {

using namespace olaf;
using namespace std::chrono_literals;

struct Recorder : RoundVectors {
    std::vector<std::uint32_t> packed, taken, missed;

    std::optional<std::uint32_t> has_none;

    std::optional<std::int16_t> contribute(std::uint32_t, std::uint32_t chunk,
                                           std::span<std::uint64_t> lanes) override {
        packed.push_back(chunk);
        if (chunk == has_none)
            return {};
        lanes[0] = 100 + chunk;
        return 7;
    }
    void take(const RoundResult &result, std::span<const std::uint64_t>) override {
        taken.push_back(result.chunk);
    }
    void miss(std::uint32_t, std::uint32_t chunk) override { missed.push_back(chunk); }
};

struct RoundChildTest : testing::Test {
    Recorder vectors;
    RoundChild child{{.job = 3, .rank = 1, .lanes = 2, .pool = 5}, vectors};
    RoundChild::Time now = 1s;

    std::optional<RoundContribution> contribution() {
        const auto sending = child.next(now, 1000);
        if (!sending)
            return {};
        std::vector<std::byte> bytes(message_size(sending->lanes.size()));
        std::memcpy(bytes.data(), &sending->header, sizeof(sending->header));
        return decode_contribution(bytes).value();
    }
    std::optional<JobSync> question() {
        const auto sending = child.next(now, 1000);
        if (!sending)
            return {};
        return decode_sync(std::as_bytes(std::span(&sending->header, 1))).value();
    }
    void give(const olaf_header &header, std::vector<std::uint64_t> lanes = {}) {
        std::vector<std::byte> bytes(message_size(lanes.size()));
        std::memcpy(bytes.data(), &header, sizeof(header));
        static_cast<void>(child.take(bytes, lanes, now));
    }
    void answer(JobSync sync, olaf_control_status status) {
        sync.answer = true;
        sync.status = status;
        give(encode(sync));
    }
    void run(std::uint8_t pool, std::uint32_t round = 0, std::uint32_t chunk = 0) {
        JobSync done = question().value();
        done.round = round;
        done.chunk = chunk;
        done.pool = pool;
        done.generation = 50;
        answer(done, OLAF_CONTROL_DONE);
    }
    RoundResult result(std::uint32_t chunk, std::uint32_t chunks) const {
        return {.job = 3,
                .rank = 1,
                .count = 2,
                .chunk = chunk,
                .chunks = chunks,
                .generation = 50,
                .lanes = 2,
                .has_checksum = true};
    }
    void give_result(std::uint32_t chunk, std::uint32_t chunks) {
        give(encode(result(chunk, chunks)), {9, 9});
    }
};

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

TEST_F(RoundChildTest, SendsAgainEverMoreSlowly) {
    child.add(1, 0, 0);
    run(0);
    ASSERT_TRUE(contribution());
    for (int i = 0; i < 9; i++) {
        const auto wait = std::min(RoundTimeout::kMost, RoundTimeout::kFirst * (1 << i));
        EXPECT_EQ(child.wakes_at(), now + wait);
        now += wait - 1ns;
        EXPECT_FALSE(contribution());
        now += 1ns;
        const auto again = contribution().value();
        EXPECT_TRUE(again.flush);
        EXPECT_EQ(again.chunk, 0U);
    }
    EXPECT_EQ(vectors.packed.size(), 1U) << "packed once";
    EXPECT_EQ(child.stats().repeated, 9U);
}

TEST_F(RoundChildTest, LearnsHowLongResultsTake) {
    child.add(40, 0, 0);
    run(0);
    for (std::uint32_t chunk = 0; chunk < 39; chunk++) {
        ASSERT_EQ(contribution().value().chunk, chunk);
        now += 10ms;
        if (chunk == 0) { // the first guess was too short
            ASSERT_TRUE(contribution());
        }
        give_result(chunk, 40);
    }
    ASSERT_TRUE(contribution());
    EXPECT_GT(child.wakes_at(), now + 9ms);
    EXPECT_LT(child.wakes_at(), now + 20ms);
}

// Otherwise the time follows the fast answers, and what is slow is repeated for ever.
TEST_F(RoundChildTest, LearnsFromTheFirstOfTwoAnswersToWhatItSentTwice) {
    child.add(40, 0, 0);
    run(0);
    for (std::uint32_t chunk = 0; chunk < 39; chunk++) {
        ASSERT_TRUE(contribution());
        now += 30ms;
        while (contribution()) // meanwhile it was overdue
            ;
        give_result(chunk, 40);
        give_result(chunk, 40); // the repetition's
    }
    ASSERT_TRUE(contribution());
    EXPECT_GT(child.wakes_at(), now + 29ms);
    EXPECT_LT(child.wakes_at(), now + 60ms);
    EXPECT_LT(child.stats().repeated, 10U);
}

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
    EXPECT_EQ(contribution().value().lanes, 0);
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
    EXPECT_EQ(child.missing(now), "the node hasn't answered at all");
    asked.rank = 4;
    asked.missing = 3;
    answer(asked, OLAF_CONTROL_WAIT);
    EXPECT_EQ(child.missing(now),
              "rank 4 hasn't asked where to begin yet, nor have 2 other members");
    asked.missing = 0; // at this node; its parent waits for others
    answer(asked, OLAF_CONTROL_WAIT);
    EXPECT_EQ(child.missing(now),
              "all members of this node have asked where to begin, but not all of other nodes");
    asked.rank = 1;
    answer(asked, OLAF_CONTROL_OLD);
    EXPECT_EQ(question().value().stamp, 1001) << "asks anew";
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
