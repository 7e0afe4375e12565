// SPDX-License-Identifier: BSD-2-Clause
// The frames that results leave in: both IP versions, tags, options, jumbo frames, 256 ranks.
#include "rounds_test.hpp"

using namespace olaf::test;

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

class RoundsOf256 : public RoundsTest {
  protected:
    RoundsOf256() : RoundsTest(many()) {}
    static olaf_job_setup many() {
        auto setup = small_job();
        setup.children = setup.threshold = 256;
        return setup;
    }
};

TEST_F(RoundsOf256, AllGetTheSumAndNobodyTwice) {
    std::vector<std::uint32_t> ranks(256);
    for (std::uint32_t rank = 0; rank < 256; rank++)
        ranks[rank] = rank;
    for (std::uint32_t rank = 0; rank < 255; rank++)
        dropped(offer(contribution(rank, 0), path_of(rank)));
    EXPECT_EQ(sent_to(0, offer(contribution(255, 0))), result(0, ranks, 0));
    for (std::uint32_t rank = 1; rank < 256; rank++)
        EXPECT_EQ(sent_to(rank, offer(contribution(rank - 1, 1))), result(rank, ranks, 0));
    EXPECT_EQ(counters().riding, 256u);
    dropped(offer(contribution(254, 1)));
}

} // namespace
