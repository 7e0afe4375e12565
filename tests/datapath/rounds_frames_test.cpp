// SPDX-License-Identifier: BSD-2-Clause
// Frames of rounds: headers, tags, options, padding, jumbo frames, and a first buffer that ends anywhere.
#include "rounds_clones.hpp"
#include "rounds.hpp"

namespace olaf::test::rounds_frames_test {
namespace {

// ---- The frames that results leave in: both IP versions, tags, options, jumbo frames.

class RoundsFrames : public RoundsTest {};

TEST_F(RoundsFrames, AResultOverIpv6HasACompleteChecksum) {
    dropped(offer(contribution(0, 0), 6));
    EXPECT_EQ(sent_to(0, offer(contribution(1, 0), 6), 6), result(0, {0, 1}, 0));
    EXPECT_EQ(sent_to(1, offer(contribution(0, 1), 6), 6), result(1, {0, 1}, 0));
}

TEST_F(RoundsFrames, MembersOfBothIpVersionsGetTheirOwn) {
    dropped(offer(contribution(0, 0), 4));
    EXPECT_EQ(sent_to(0, offer(contribution(1, 0), 6), 4), result(0, {0, 1}, 0));
    EXPECT_EQ(sent_to(1, offer(contribution(0, 1), 4), 6), result(1, {0, 1}, 0));
}

TEST_F(RoundsFrames, TagsOfTheAddresseeAreOnItsResult) {
    dropped(offer(contribution(0, 0), path_of(0).service_vlan(9).vlan(7)));
    const auto ran = offer(contribution(1, 0));
    std::string why;
    const auto received = parse_job_message(ran.bytes, &why);
    ASSERT_TRUE(received) << why;
    EXPECT_EQ(get_be(ran.bytes, 12, 4), 0x88a80009u);
    EXPECT_EQ(get_be(ran.bytes, 16, 4), 0x81000007u);
    EXPECT_EQ(received->message, result(0, {0, 1}, 0));
}

TEST_F(RoundsFrames, AFrameWithOptionsCarriesAPlainResult) {
    dropped(offer(contribution(0, 0), path_of(0).options(40)));
    EXPECT_EQ(sent_to(0, offer(contribution(1, 0), path_of(1).options(40))), result(0, {0, 1}, 0));
}

TEST_F(RoundsFrames, BytesBehindTheMessageAreCutOff) {
    dropped(offer(contribution(0, 0)));
    auto padded = path_of(1).carrying(contribution(1, 0));
    padded.bytes.resize(padded.bytes.size() + 20);
    const auto ran = queue.offer(padded);
    EXPECT_EQ(ran.bytes.size(), padded.bytes.size() - 20);
    EXPECT_EQ(sent_to(0, ran), result(0, {0, 1}, 0));
}

/// A rank asks in a message as long as a contribution, and is answered in one as long: with that session,
/// the run that has the job, and zeros.
void expect_answer_in_full_length(const Ran &ran, std::uint16_t lanes, std::uint64_t session) {
    std::string why;
    const auto answer = parse_job_message(ran.bytes, &why);
    ASSERT_STREQ(verdict_name(ran.verdict), "XDP_TX");
    ASSERT_TRUE(answer) << why;
    EXPECT_EQ(answer->message.type, OLAF_CONTROL);
    EXPECT_EQ(answer->message.flags, OLAF_FLAG_ANSWER);
    std::vector<std::uint64_t> expected(lanes);
    expected[OLAF_SYNC_SESSION] = session;
    expected[OLAF_SYNC_TRAINING] = expected[OLAF_SYNC_RUN] = ~0ull;
    EXPECT_EQ(answer->message.lanes, expected);
}
JobMessage padded_question(std::uint32_t rank, std::uint16_t lanes) {
    return {.type = OLAF_CONTROL, .flags = 0, .rank = rank, .count = OLAF_CONTROL_SYNC,
            .generated_ns = 5, .chunks = 0, .lanes = std::vector<std::uint64_t>(lanes, ~0ull)}; // as a stranger might
}

TEST_F(RoundsFrames, APaddedQuestionIsAnsweredInFullLength) {
    expect_answer_in_full_length(offer(padded_question(0, setup.lanes), 4), setup.lanes, 0);
    expect_answer_in_full_length(offer(padded_question(1, setup.lanes), 6), setup.lanes, ~0ull);
}

TEST_F(RoundsFrames, APaddedQuestionWithOptionsOrTagsIsAnsweredInFullLength) {
    expect_answer_in_full_length(offer(padded_question(0, setup.lanes), path_of(0).options(40)),
                                 setup.lanes, 0);
    expect_answer_in_full_length(
        offer(padded_question(1, setup.lanes), path_of(1).service_vlan(9).vlan(7)), setup.lanes, ~0ull);
}

class RoundsOfJumboFrames : public RoundsTest {
  protected:
    RoundsOfJumboFrames() : RoundsTest(large(), queue_with_rounds(OLAF_MAX_LANES)) {}
    static olaf_job_setup large() {
        auto setup = small_job();
        setup.lanes = 1101;
        setup.slots = 2;
        setup.pool = 1;
        return setup;
    }
};

TEST_F(RoundsOfJumboFrames, AreAddedAndCarryResults) {
    dropped(offer(contribution(0, 0)));
    EXPECT_EQ(sent_to(0, offer(contribution(1, 0))), result(0, {0, 1}, 0));
    EXPECT_EQ(sent_to(1, offer(contribution(1, 0))), result(1, {0, 1}, 0));
}

TEST_F(RoundsOfJumboFrames, OverIpv6Too) {
    dropped(offer(contribution(0, 0), 6));
    EXPECT_EQ(sent_to(0, offer(contribution(1, 0), 6), 6), result(0, {0, 1}, 0));
}

TEST_F(RoundsOfJumboFrames, AnswerAPaddedQuestionInFullLength) {
    expect_answer_in_full_length(offer(padded_question(0, setup.lanes), 4), setup.lanes, 0);
    expect_answer_in_full_length(offer(padded_question(1, setup.lanes), 6), setup.lanes, ~0ull);
}

// ---- Frames that lie in several buffers: where the first one ends, and results that are longer than a frame at hand.

/// Can a test say how much of a frame is in its first buffer? Linux 6.18.
bool can_split(const Harness &queue) {
    const bool can = can_choose_linear_bytes(queue.queue().program_fd("olaf_ingress"));
    if (!can)
        testing::Test::RecordProperty("kernel", "can't choose the first buffer's length");
    return can;
}

/// Frames of few lanes.
class RoundsOfTwoBuffers : public RoundsTest, public testing::WithParamInterface<int> {
  protected:
    bool can_choose() { return can_split(queue); }
    /// So many bytes of the message are in the first buffer.
    Ran offer_split(const JobMessage &message, const Path &path, std::size_t bytes) {
        const auto frame = path.carrying(message);
        return queue.offer(frame, {.linear_bytes = frame.message + bytes});
    }
    std::vector<Path> paths_of(std::uint32_t rank) {
        const auto path = path_of(rank, GetParam());
        std::vector<Path> paths = {path, Path(path).service_vlan(9).vlan(7)};
        if (GetParam() == 4)
            paths.push_back(Path(path).options(40));
        return paths;
    }
};

INSTANTIATE_TEST_SUITE_P(OfBothFamilies, RoundsOfTwoBuffers, both_families, family_name);

TEST_P(RoundsOfTwoBuffers, TheFirstMayEndBehindTheHeaderAndInALane) {
    if (!can_choose())
        return;
    const std::size_t all = sizeof(olaf_header) + 8 * std::size_t{setup.lanes};
    std::uint32_t i = 0;
    for (const std::size_t bytes : {std::size_t{48}, std::size_t{49}, std::size_t{48 + 7}, std::size_t{48 + 8},
                                    std::size_t{48 + 8 * 2 + 4}, all - 8, all - 1})
        for (const auto &[first, second] : {std::pair(0, 0), std::pair(1, 0), std::pair(0, 1), std::pair(1, 1)}) {
            SCOPED_TRACE(std::to_string(bytes) + " bytes, paths " + std::to_string(first) + std::to_string(second));
            const std::uint32_t chunk = i % setup.slots, round = i / setup.slots;
            i++;
            const auto from = paths_of(0)[static_cast<std::size_t>(first)];
            const auto then = paths_of(1)[static_cast<std::size_t>(second)];
            dropped(offer_split(contribution(0, chunk, round), from, bytes));
            EXPECT_EQ(sent_to(0, offer_split(contribution(1, chunk, round), then, bytes), GetParam()),
                      result(0, {0, 1}, chunk, round));
            EXPECT_EQ(sent_to(1, offer_split(contribution(1, chunk, round), then, bytes), GetParam()),
                      result(1, {0, 1}, chunk, round));
        }
    EXPECT_EQ(counters().completed, i);
}

TEST_P(RoundsOfTwoBuffers, OptionsBeforeTheEndOfTheFirstChangeNothing) {
    if (!can_choose())
        return;
    for (std::uint32_t chunk = 0; const auto &path : paths_of(1)) {
        dropped(offer_split(contribution(0, chunk), paths_of(0)[0], 48 + 3));
        EXPECT_EQ(sent_to(0, offer_split(contribution(1, chunk), path, 48 + 3), GetParam()), result(0, {0, 1}, chunk));
        EXPECT_EQ(sent_to(1, offer(contribution(1, chunk), path), GetParam()), result(1, {0, 1}, chunk));
        chunk++;
    }
}

TEST_P(RoundsOfTwoBuffers, AHeaderThatIsntWholeInTheFirstIsMalformed) {
    if (!can_choose())
        return;
    std::uint64_t refused = 0;
    for (const std::size_t bytes : {2u, 3u, 20u, 44u, 47u})
        for (const auto &path : paths_of(0)) {
            dropped(offer_split(contribution(0, 0), path, bytes));
            EXPECT_EQ(queue.counters().malformed[OLAF_MALFORMED_TRUNCATED], ++refused) << bytes << " bytes";
        }
    EXPECT_EQ(counters().received, 0u);
    dropped(offer(contribution(0, 0), GetParam()));
    EXPECT_EQ(counters().added, 1u);
}

/// A sum is longer than a buffer of any frame.
class RoundsOfJumboResults : public RoundsWithClones, public testing::WithParamInterface<int> {
  protected:
    RoundsOfJumboResults() : RoundsWithClones(large(), OLAF_MAX_LANES) {}
    static olaf_job_setup large() {
        auto setup = small_job();
        setup.lanes = 1101;
        setup.slots = 4;
        setup.pool = 2;
        return setup;
    }
    Ran offer_here(const JobMessage &message) { return offer(message, GetParam()); }
    JobMessage sent_here(std::uint32_t rank, const Ran &ran) { return sent_to(rank, ran, GetParam()); }
    JobMessage probe(std::uint32_t rank, std::uint32_t chunk) {
        auto message = contribution(rank, chunk);
        message.lanes.clear();
        return message;
    }
    /// The first child gets the result in the second one's frame.
    void complete(std::uint32_t chunk) {
        dropped(offer_here(contribution(0, chunk)));
        EXPECT_EQ(sent_here(0, offer_here(contribution(1, chunk))), result(0, {0, 1}, chunk));
    }
    /// An order's first page: the test runner has no longer frame for TC.
    static Ran order_of(Ran ran) {
        EXPECT_STREQ(verdict_name(ran.verdict), "XDP_PASS");
        ran.bytes.resize(std::min(ran.bytes.size(), std::size_t{1500}));
        return ran;
    }
};

INSTANTIATE_TEST_SUITE_P(OfBothFamilies, RoundsOfJumboResults, both_families, family_name);

TEST_P(RoundsOfJumboResults, TheFirstBufferMayEndInALane) {
    if (!can_split(queue))
        return;
    std::uint32_t chunk = 0;
    for (const std::size_t bytes : {std::size_t{48}, std::size_t{48 + 8 * 100 + 3}, std::size_t{3000}}) {
        const auto split = [&](const JobMessage &message) {
            const auto frame = path_of(message.rank, GetParam()).carrying(message);
            return queue.offer(frame, {.linear_bytes = frame.message + bytes});
        };
        dropped(split(contribution(0, chunk)));
        EXPECT_EQ(sent_here(0, split(contribution(1, chunk))), result(0, {0, 1}, chunk)) << bytes;
        EXPECT_EQ(sent_here(1, split(contribution(1, chunk))), result(1, {0, 1}, chunk)) << bytes;
        chunk++;
    }
}

TEST_P(RoundsOfJumboResults, AFlushSendsThemInClones) {
    dropped(offer_here(contribution(0, 0)));
    dropped(offer_here(contribution(0, 1)));
    EXPECT_EQ(sent_here(0, offer_here(contribution(1, 0))), result(0, {0, 1}, 0));
    const auto clones = clones_of(order_of(offer_here(flushing(contribution(1, 1)))));
    ASSERT_EQ(clones.size(), 3u);
    EXPECT_EQ(sent_here(1, clones[0]), result(1, {0, 1}, 0));
    EXPECT_EQ(sent_here(0, clones[1]), result(0, {0, 1}, 1));
    EXPECT_EQ(sent_here(1, clones[2]), result(1, {0, 1}, 1));
    EXPECT_EQ(counters().copied, 3u);
    EXPECT_EQ(owed(), 0u);
}

TEST_P(RoundsOfJumboResults, AProbeWithFlushSendsWhatWaitsInClones) {
    complete(0);
    const auto clones = clones_of(order_of(offer_here(flushing(probe(0, 1)))));
    ASSERT_EQ(clones.size(), 1u);
    EXPECT_EQ(sent_here(1, clones[0]), result(1, {0, 1}, 0));
}

TEST_P(RoundsOfJumboResults, AProbeLeavesWhatItAsksForToALongerFrame) {
    complete(0);
    dropped(offer_here(probe(1, 0)));
    EXPECT_EQ(owed(), 1u);
    EXPECT_EQ(counters().undelivered, 0u);
    EXPECT_EQ(sent_here(1, offer_here(contribution(0, 1))), result(1, {0, 1}, 0));
}

TEST_P(RoundsOfJumboResults, AProbeWithFlushBringsWhatItAsksForInAClone) {
    complete(0);
    const auto clones = clones_of(order_of(offer_here(flushing(probe(1, 0)))));
    ASSERT_EQ(clones.size(), 1u);
    EXPECT_EQ(sent_here(1, clones[0]), result(1, {0, 1}, 0));
}

TEST_P(RoundsOfJumboResults, AProbeOfOneTakesNoResultFromAnother) {
    complete(0);
    dropped(offer_here(probe(0, 1))); // too short for what is owed to the other
    EXPECT_EQ(owed(), 1u);
    EXPECT_EQ(counters().undelivered, 0u);
    EXPECT_EQ(sent_here(1, offer_here(contribution(0, 1))), result(1, {0, 1}, 0));
}

} // namespace
} // namespace olaf::test::rounds_frames_test
