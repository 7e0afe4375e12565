// SPDX-License-Identifier: BSD-2-Clause
// The frames that results leave in: both IP versions, tags, options, jumbo frames.
#include "rounds_test.hpp"

namespace olaf::test::rounds_frames_test {
namespace {

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

/// A rank asks in a message as long as a contribution, and is answered in one as long.
void expect_answer_in_full_length(const Ran &ran, std::uint16_t lanes) {
    std::string why;
    const auto answer = parse_job_message(ran.bytes, &why);
    ASSERT_STREQ(verdict_name(ran.verdict), "XDP_TX");
    ASSERT_TRUE(answer) << why;
    EXPECT_EQ(answer->message.type, OLAF_CONTROL);
    EXPECT_EQ(answer->message.flags, OLAF_FLAG_ANSWER);
    EXPECT_EQ(answer->message.lanes, std::vector<std::uint64_t>(lanes));
}
JobMessage padded_question(std::uint32_t rank, std::uint16_t lanes) {
    return {.type = OLAF_CONTROL, .flags = 0, .rank = rank, .count = OLAF_CONTROL_SYNC,
            .generated_ns = 5, .chunks = 0, .lanes = std::vector<std::uint64_t>(lanes, ~0ull)}; // as a stranger might
}

TEST_F(RoundsFrames, APaddedQuestionIsAnsweredInFullLength) {
    expect_answer_in_full_length(offer(padded_question(0, setup.lanes), 4), setup.lanes);
    expect_answer_in_full_length(offer(padded_question(1, setup.lanes), 6), setup.lanes);
}

TEST_F(RoundsFrames, APaddedQuestionWithOptionsOrTagsIsAnsweredInFullLength) {
    expect_answer_in_full_length(offer(padded_question(0, setup.lanes), path_of(0).options(40)),
                                 setup.lanes);
    expect_answer_in_full_length(
        offer(padded_question(1, setup.lanes), path_of(1).service_vlan(9).vlan(7)), setup.lanes);
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
    expect_answer_in_full_length(offer(padded_question(0, setup.lanes), 4), setup.lanes);
    expect_answer_in_full_length(offer(padded_question(1, setup.lanes), 6), setup.lanes);
}

} // namespace
} // namespace olaf::test::rounds_frames_test
