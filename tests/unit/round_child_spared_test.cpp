// SPDX-License-Identifier: BSD-2-Clause
// Chunks that nobody sends, as an earlier one has brought their sum.
#include "round_child_test.hpp"

namespace olaf::test::round_child_spared_test {
namespace {

using namespace olaf;
using namespace olaf::test;

// A result with exponent 1 spares the chunk that follows from it.
struct Sparing : Recorder {
    bool spares(const RoundResult &result, std::span<const std::uint64_t>,
                std::uint32_t) const override {
        return result.exponent == 1;
    }
    bool spares_missed(std::uint32_t) const override { return true; }
};

struct RoundChildSparedTest : RoundChildTest {
    Sparing sparing;
    RoundChild child{{.job = 3, .rank = 1, .lanes = 2, .pool = 5}, sparing};

    std::optional<std::uint32_t> next_chunk() {
        const auto sending = child.next(now, 1000);
        return sending ? std::optional(be32toh(sending->header.chunk_be)) : std::nullopt;
    }
    void take(const RoundResult &result) {
        const std::vector<std::uint64_t> lanes(result.stale ? 0 : 2, 9);
        std::vector<std::byte> bytes(message_size(lanes.size()));
        const olaf_header header = encode(result);
        std::memcpy(bytes.data(), &header, sizeof(header));
        static_cast<void>(child.take(bytes, lanes, now));
    }
    void bring(std::uint32_t chunk, std::uint32_t chunks, bool spares) {
        RoundResult brought = result(chunk, chunks);
        brought.exponent = spares ? 1 : 0;
        take(brought);
    }
    void begin(std::uint32_t chunk = 0) {
        const auto sending = child.next(now, 1000);
        JobSync done = decode_sync(std::as_bytes(std::span(&sending->header, 1))).value();
        done.answer = true;
        done.status = OLAF_CONTROL_DONE;
        done.round = 0;
        done.chunk = chunk;
        done.pool = 3;
        done.generation = 50;
        const olaf_header header = encode(done);
        static_cast<void>(child.take(std::as_bytes(std::span(&header, 1)), {}, now));
    }
};

TEST_F(RoundChildSparedTest, AreNeitherPackedNorSentAndTheVectorIsWholeWithoutThem) {
    child.add(4, 2, 0);
    begin();
    EXPECT_EQ(next_chunk(), 0U);
    EXPECT_EQ(next_chunk(), 1U);
    bring(0, 4, true);
    EXPECT_FALSE(next_chunk()) << "chunk 2 is spared, and chunk 3 isn't known to be";
    bring(1, 4, false);
    EXPECT_EQ(next_chunk(), 3U);
    EXPECT_FALSE(child.is_idle());
    bring(3, 4, false);
    EXPECT_TRUE(child.is_idle());
    EXPECT_EQ(sparing.packed, (std::vector<std::uint32_t>{0, 1, 3}));
    EXPECT_EQ(sparing.taken, (std::vector<std::uint32_t>{0, 1, 3}));
    EXPECT_EQ(child.stats().spared, 1U);
}

TEST_F(RoundChildSparedTest, LetTheNextVectorGo) {
    child.add(2, 1, 0);
    child.add(2, 1, 0);
    begin();
    EXPECT_EQ(next_chunk(), 0U);
    EXPECT_FALSE(next_chunk()) << "in order";
    bring(0, 2, true);
    EXPECT_EQ(next_chunk(), 0U);
    EXPECT_EQ(child.next_round(), 2U);
}

TEST_F(RoundChildSparedTest, AreSparedAgainWhereAllBeginAnew) {
    child.add(3, 1, 0);
    begin();
    EXPECT_EQ(next_chunk(), 0U);
    bring(0, 3, true); // so chunk 1 is spared, and chunk 2 follows from it
    EXPECT_EQ(next_chunk(), 2U);
    ASSERT_TRUE(child.ask_who_is_missing());
    begin();
    EXPECT_EQ(next_chunk(), 0U) << "as somebody lacks it";
    EXPECT_EQ(next_chunk(), 2U);
    bring(0, 3, true);
    bring(2, 3, false);
    EXPECT_TRUE(child.is_idle());
    EXPECT_EQ(sparing.packed, (std::vector<std::uint32_t>{0, 2}));
}

// Members came or went: the others agree on what this one can't do any more.
TEST_F(RoundChildSparedTest, FailWhereTheSumIsAnotherOneThen) {
    for (const bool before : {false, true}) {
        child = RoundChild({.job = 3, .rank = 1, .lanes = 2, .pool = 5}, sparing);
        child.add(4, 2, 0);
        begin();
        EXPECT_EQ(next_chunk(), 0U);
        bring(0, 4, before);
        ASSERT_TRUE(child.ask_who_is_missing());
        begin();
        EXPECT_EQ(next_chunk(), 0U);
        bring(0, 4, !before);
        ASSERT_TRUE(child.failure());
        EXPECT_NE(child.failure()->reason.find("another exponent than before"), std::string::npos);
    }
}

TEST_F(RoundChildSparedTest, AMissedChunkSparesWhatFollows) {
    child.add(4, 2, 0);
    begin();
    EXPECT_EQ(next_chunk(), 0U);
    EXPECT_EQ(next_chunk(), 1U);
    take({.job = 3,
          .rank = 1,
          .count = 50,
          .chunk = 0,
          .chunks = 4,
          .generation = 50,
          .stale = true});
    EXPECT_FALSE(next_chunk());
    bring(1, 4, true);
    EXPECT_FALSE(next_chunk());
    EXPECT_TRUE(child.is_idle());
    EXPECT_EQ(sparing.missed, std::vector<std::uint32_t>{0});
    EXPECT_EQ(sparing.taken, std::vector<std::uint32_t>{1});
}

// What is kept for others is counted in chunks that were sent.
TEST_F(RoundChildSparedTest, DontMakeAMemberForgetWhatOthersMayNeed) {
    constexpr std::uint32_t vectors = 40;
    for (std::uint32_t i = 0; i < vectors; i++)
        child.add(2, 1, 0);
    begin();
    for (std::uint32_t i = 0; i < vectors; i++) {
        EXPECT_EQ(next_chunk(), 0U);
        RoundResult brought = result(0, 2);
        brought.round = i;
        brought.exponent = 1;
        take(brought);
    }
    ASSERT_TRUE(child.is_idle());
    child.add(1, 0, 0);
    ASSERT_EQ(next_chunk(), 0U);
    ASSERT_TRUE(child.ask_who_is_missing());
    const auto sending = child.next(now, 1000);
    JobSync done = decode_sync(std::as_bytes(std::span(&sending->header, 1))).value();
    done.answer = true;
    done.status = OLAF_CONTROL_DONE;
    done.round = vectors + 1 - 16; // 2 P before what it has sent
    done.pool = 3;
    done.generation = 51;
    const olaf_header header = encode(done);
    static_cast<void>(child.take(std::as_bytes(std::span(&header, 1)), {}, now));
    EXPECT_TRUE(child.is_running());
    EXPECT_FALSE(child.failure());
}

} // namespace
} // namespace olaf::test::round_child_spared_test
