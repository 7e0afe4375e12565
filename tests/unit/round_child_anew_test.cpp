// SPDX-License-Identifier: BSD-2-Clause
// A worker's side of a job whose members have begun anew: docs/rounds.md, "Exponents agreed on
// anew" and "One sum for all".
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "round_child.hpp"

namespace olaf::test::round_child_anew_test {
namespace {

// Chunks that nobody sends, as an earlier one has brought their sum.

struct RoundChildSparedTest : RoundChildTest {
    RoundChildSparedTest() { vectors.sparing = true; }

    std::optional<std::uint32_t> next_chunk() {
        const auto sending = child.next(now, 1000);
        return sending ? std::optional(be32toh(sending->header.chunk_be)) : std::nullopt;
    }
    void bring(std::uint32_t chunk, std::uint32_t chunks, bool spares, std::uint32_t round = 0) {
        RoundResult brought = result(chunk, chunks);
        brought.round = round;
        brought.exponent = spares ? 1 : 0;
        give(encode(brought), {9, 9});
    }
};

TEST_F(RoundChildSparedTest, AreSparedAgainWhereAllBeginAnew) {
    child.add(3, 1, 0);
    run(3);
    EXPECT_EQ(next_chunk(), 0U);
    bring(0, 3, true); // so chunk 1 is spared, and chunk 2 follows from it
    EXPECT_EQ(next_chunk(), 2U);
    ASSERT_TRUE(child.ask_who_is_missing());
    run(3);
    EXPECT_EQ(next_chunk(), 0U) << "as somebody lacks it";
    EXPECT_FALSE(next_chunk()) << "chunk 1 may not be spared this time";
    bring(0, 3, true);
    EXPECT_EQ(next_chunk(), 2U);
    bring(2, 3, false);
    EXPECT_TRUE(child.is_idle());
    EXPECT_EQ(vectors.packed, (std::vector<std::uint32_t>{0, 2}));
}

// What follows from a chunk is packed by the exponent that all were told last.

struct RoundChildAgreedAnew : RoundChildSparedTest {
    /// A vector of n chunks, the second half of which follow from the first, of which all begin
    /// anew with chunk 0 once so many were sent and brought.
    void begin_anew_after(std::uint32_t sent, std::uint32_t brought, bool spared = false) {
        child.add(2, 1, 0);
        run(3);
        for (std::uint32_t chunk = 0; chunk < sent; chunk++) {
            EXPECT_EQ(next_chunk(), chunk);
            if (chunk < brought)
                bring(chunk, 2, spared && chunk == 0);
        }
        agree_anew(51);
    }
    void agree_anew(std::uint32_t generation, std::uint32_t chunk = 0) {
        child.add(1, 0, 0); // there is something to ask for
        ASSERT_TRUE(child.ask_who_is_missing());
        run(3, 0, chunk, generation);
    }
    void bring_in(std::uint32_t generation, std::uint32_t chunk, std::int16_t exponent) {
        RoundResult brought = result(chunk, 2);
        brought.generation = generation;
        brought.exponent = exponent;
        give(encode(brought), {9, 9});
    }
    using Packed = std::vector<std::pair<std::uint32_t, std::int16_t>>;
};

TEST_F(RoundChildAgreedAnew, PacksWhatItHasSentByTheOtherExponent) {
    begin_anew_after(2, 1);
    EXPECT_EQ(contribution().value().chunk, 0U);
    EXPECT_FALSE(contribution()) << "by which exponent isn't known";
    bring_in(51, 0, 6);
    EXPECT_EQ(vectors.packed_anew, (Packed{{1, 6}}));
    EXPECT_EQ(vectors.taken_anew, (std::vector<std::uint32_t>{0}));
    const auto sent = child.next(now, 1000);
    ASSERT_TRUE(sent);
    EXPECT_EQ(sent->lanes[0], 500U);
    EXPECT_TRUE(checksum_matches(sent->lanes));
}

// It wasn't among those who agreed on that exponent.
TEST_F(RoundChildAgreedAnew, AsksForWhatItsPartIsTooLargeFor) {
    vectors.fits = false;
    begin_anew_after(2, 1);
    EXPECT_EQ(next_chunk(), 0U);
    bring_in(51, 0, 6);
    const auto sent = child.next(now, 1000);
    ASSERT_TRUE(sent);
    EXPECT_EQ(be32toh(sent->header.chunk_be), 1U);
    EXPECT_TRUE(sent->lanes.empty());
}

TEST_F(RoundChildAgreedAnew, PacksNothingAnewWhereTheExponentIsTheSame) {
    begin_anew_after(2, 1);
    EXPECT_EQ(next_chunk(), 0U);
    bring_in(51, 0, 0);
    EXPECT_EQ(next_chunk(), 1U);
    EXPECT_TRUE(vectors.packed_anew.empty());
    EXPECT_TRUE(vectors.taken_anew.empty());
}

// Others lack the sum that this one has. Its user may have changed the vector since.
TEST_F(RoundChildAgreedAnew, PacksWhatItHasTheSumOf) {
    begin_anew_after(2, 2);
    EXPECT_EQ(next_chunk(), 0U);
    bring_in(51, 0, 6);
    EXPECT_EQ(vectors.packed_anew, (Packed{{1, 6}}));
    EXPECT_TRUE(vectors.taken_anew.empty());
    EXPECT_EQ(next_chunk(), 1U);
}

// Until it is told again, all must begin there once more.
TEST_F(RoundChildAgreedAnew, LacksAnExponentUntilItIsToldAgain) {
    begin_anew_after(2, 2);
    EXPECT_EQ(next_chunk(), 0U);
    ASSERT_TRUE(child.ask_who_is_missing());
    EXPECT_EQ(question().value().chunk, 0U);
    EXPECT_EQ(question().value().round, 0U);
}

TEST_F(RoundChildAgreedAnew, SendsAfterAllWhatWasSpared) {
    vectors.alone = true;
    begin_anew_after(1, 1, true);
    EXPECT_EQ(next_chunk(), 0U);
    EXPECT_FALSE(next_chunk()) << "whether it is spared isn't known";
    bring_in(51, 0, 6);
    EXPECT_EQ(vectors.packed_anew, (Packed{{1, 6}}));
    EXPECT_TRUE(vectors.taken_anew.empty()) << "its sum is there";
    EXPECT_EQ(next_chunk(), 1U);
}

TEST_F(RoundChildAgreedAnew, SparesWhatItHasSent) {
    begin_anew_after(2, 1);
    EXPECT_EQ(next_chunk(), 0U);
    bring_in(51, 0, 1);
    EXPECT_EQ(vectors.taken_anew, (std::vector<std::uint32_t>{0})) << "with the sum of the other";
    const auto next = contribution();
    ASSERT_TRUE(next);
    EXPECT_EQ(next->round, 1U);
}

// The others know by which exponent they pack, and nobody tells this member any more.
TEST_F(RoundChildAgreedAnew, GivesNothingWhereItIsNotToldAgain) {
    begin_anew_after(2, 1);
    EXPECT_EQ(next_chunk(), 0U);
    RoundResult over = stale(2);
    over.count = over.generation = 51;
    give(encode(over));
    EXPECT_EQ(vectors.missed_anew.size(), 1U);
    const auto next = contribution();
    ASSERT_TRUE(next);
    EXPECT_EQ(next->round, 1U);
    EXPECT_TRUE(vectors.packed_anew.empty());
}

TEST_F(RoundChildAgreedAnew, KeepsASourceUntilWhatFollowsIsPacked) {
    constexpr std::uint32_t lag = 40, chunks = 2 * lag;
    child.add(chunks, lag, 0);
    run(0); // one chunk at a time: two are kept for others
    for (std::uint32_t chunk = 0; chunk < lag; chunk++) {
        ASSERT_EQ(next_chunk(), chunk);
        bring(chunk, chunks, false);
    }
    ASSERT_TRUE(child.ask_who_is_missing());
    run(0, 0, 0, 51);
    EXPECT_TRUE(child.is_running());
    EXPECT_EQ(next_chunk(), 0U);
}

struct RoundChildOneSum : RoundChildAgreedAnew {
    /// A vector of one chunk is summed, and all begin anew with it.
    void begin_anew_with_a_sum() {
        child.add(1, 0, 0);
        run(3);
        EXPECT_EQ(next_chunk(), 0U);
        give_sum(50);
        agree_anew(51);
        EXPECT_EQ(next_chunk(), 0U);
    }
    void give_sum(std::uint32_t generation, std::uint16_t count = 2, std::uint64_t sum = 9) {
        RoundResult summed = result(0, 1);
        summed.generation = generation;
        summed.count = count;
        give(encode(summed), {sum, sum});
    }
    void go_on_without_it(std::uint32_t chunks) {
        RoundResult over = stale(chunks);
        over.count = over.generation = 51;
        give(encode(over));
    }
    /// Empty: it goes on.
    [[nodiscard]] std::string failure() const {
        return child.failure() ? child.failure()->message() : std::string();
    }
};

TEST_F(RoundChildOneSum, GoesOnWhereTheSumIsTheSame) {
    begin_anew_with_a_sum();
    give_sum(51);
    EXPECT_EQ(failure(), "");
    EXPECT_EQ(vectors.taken.size(), 1U);
    EXPECT_EQ(contribution().value().round, 1U);
}

TEST_F(RoundChildOneSum, FailsWhereOthersHaveAnotherSum) {
    begin_anew_with_a_sum();
    give_sum(51, 2, 10);
    EXPECT_NE(failure().find("the sum of chunk 0 of round 0 that this member was given isn't the "
                             "one that other members have"),
              std::string::npos)
        << failure();
    EXPECT_NE(failure().find("start() again, at every worker"), std::string::npos);
}

// A mean is divided by it.
TEST_F(RoundChildOneSum, FailsWhereOthersHaveTheSameSumOfAnotherNumber) {
    begin_anew_with_a_sum();
    give_sum(51, 3);
    EXPECT_NE(failure(), "");
}

TEST_F(RoundChildOneSum, FailsWhereNobodyTellsWhetherOthersHaveIt) {
    begin_anew_with_a_sum();
    go_on_without_it(1);
    EXPECT_NE(failure().find("may not be the one that other members have"), std::string::npos)
        << failure();
}

// All begin there once more if all must begin anew before it is compared.
TEST_F(RoundChildOneSum, LacksWhatIsNotComparedYet) {
    begin_anew_with_a_sum();
    ASSERT_TRUE(child.ask_who_is_missing());
    EXPECT_EQ(question().value().round, 0U);
}

TEST_F(RoundChildOneSum, LacksNothingThatIsCompared) {
    begin_anew_with_a_sum();
    give_sum(51);
    ASSERT_TRUE(child.ask_who_is_missing());
    EXPECT_EQ(question().value().round, 1U);
}

TEST_F(RoundChildOneSum, IsOfNoMatterToWhoeverTakesTheWeightsOfOthers) {
    vectors.alone = true;
    begin_anew_with_a_sum();
    give_sum(51, 3, 10);
    EXPECT_EQ(failure(), "");
}

TEST_F(RoundChildOneSum, WasMissedAndIsNotCompared) {
    child.add(1, 0, 0);
    run(3);
    EXPECT_EQ(next_chunk(), 0U);
    RoundResult over = stale(1);
    over.generation = 50;
    give(encode(over));
    agree_anew(51);
    EXPECT_EQ(next_chunk(), 0U);
    give_sum(51);
    EXPECT_EQ(failure(), "");
}

// By the exponent that the others are told it would be another sum.
TEST_F(RoundChildOneSum, FailsWhereWhatBroughtASumBringsAnother) {
    begin_anew_after(1, 1, true);
    EXPECT_EQ(next_chunk(), 0U);
    bring_in(51, 0, 6);
    EXPECT_NE(failure().find("isn't"), std::string::npos) << failure();
}

TEST_F(RoundChildOneSum, FailsWhereOthersAreBroughtTheSumBeforeItsChunk) {
    begin_anew_after(2, 2);
    EXPECT_EQ(next_chunk(), 0U);
    bring_in(51, 0, 1);
    EXPECT_NE(failure().find("the sum of chunk 1 of round 0"), std::string::npos) << failure();
}

TEST_F(RoundChildOneSum, FailsWhereTheExponentOfItsSumIsNotToldAgain) {
    begin_anew_after(2, 2);
    EXPECT_EQ(next_chunk(), 0U);
    go_on_without_it(2);
    EXPECT_NE(failure().find("the sum of chunk 1 of round 0 that this member was given may not be"),
              std::string::npos)
        << failure();
}

TEST_F(RoundChildOneSum, IsComparedWhereAnotherBroughtItTheSecondTime) {
    begin_anew_after(2, 1);
    EXPECT_EQ(next_chunk(), 0U);
    bring_in(51, 0, 1); // with the sum of chunk 1
    agree_anew(52);
    EXPECT_EQ(next_chunk(), 0U);
    bring_in(52, 0, 6);
    EXPECT_NE(failure().find("isn't"), std::string::npos) << failure();
}

// What is kept for others is counted in chunks that were sent.
TEST_F(RoundChildSparedTest, DontMakeAMemberForgetWhatOthersMayNeed) {
    constexpr std::uint32_t number = 40;
    for (std::uint32_t i = 0; i < number; i++)
        child.add(2, 1, 0);
    run(3);
    for (std::uint32_t i = 0; i < number; i++) {
        EXPECT_EQ(next_chunk(), 0U);
        bring(0, 2, true, i);
    }
    ASSERT_TRUE(child.is_idle());
    child.add(1, 0, 0);
    ASSERT_EQ(next_chunk(), 0U);
    ASSERT_TRUE(child.ask_who_is_missing());
    run(3, number + 1 - 16, 0, 51); // 2 P before what it has sent
    EXPECT_TRUE(child.is_running());
    EXPECT_FALSE(child.failure());
}

} // namespace
} // namespace olaf::test::round_child_anew_test
