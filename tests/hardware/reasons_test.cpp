// SPDX-License-Identifier: BSD-2-Clause
// Every reason by which a card drops a message or leaves it alone, one at a time.
#include "hardware_test.hpp"

using namespace olaf::test;

namespace {

class HardwareReasons : public HardwareTest {
  protected:
    explicit HardwareReasons(const Setting &setting = {}) : HardwareTest(setting) {}

    /// The frame counts as that, as nothing else, and leaves or doesn't.
    void counts_as(unsigned index, const Frame &frame, bool leaves) {
        const auto before = counter(index), received = counter(OLAF_CARD_received), left = both.departed_frames;
        offer(frame);
        EXPECT_EQ(counter(index), before + 1) << "counter " << index;
        EXPECT_EQ(counter(OLAF_CARD_received), received);
        EXPECT_EQ(both.departed_frames, left + (leaves ? 1 : 0));
    }
    void malformed(olaf_malformed reason, const Frame &frame) {
        counts_as(unsigned{OLAF_CARD_malformed} + reason, frame, false);
    }
    void bypassed(olaf_bypass reason, const Frame &frame) {
        counts_as(unsigned{OLAF_CARD_bypassed} + reason, frame, true);
    }
    void refused(olaf_not_allowed reason, const Frame &frame) {
        counts_as(unsigned{OLAF_CARD_not_allowed} + reason, frame, false);
    }

    const Frame good = ipv4().carrying(Update{.cluster = 1});
    const Frame tagged = ipv4().service_vlan(5).vlan(7).options(40).carrying(Update{.cluster = 1});
    Frame field(std::size_t offset, std::uint64_t value, int width) const {
        return with(good, good.message + offset, value, width);
    }
};

TEST_F(HardwareReasons, VersionAndType) {
    for (unsigned version : {0u, 2u, 255u})
        malformed(OLAF_MALFORMED_VERSION, field(2, version, 1));
    for (unsigned type : {0u, 6u, 255u})
        malformed(OLAF_MALFORMED_TYPE, field(3, type, 1));
}

TEST_F(HardwareReasons, LengthDisagreesWithLanes) {
    for (unsigned lanes : {0u, 1u, 4u, 6u, 0x2005u, 0xffffu})
        malformed(OLAF_MALFORMED_LENGTH, field(6, lanes, 2));
    for (unsigned bytes : {0u, 7u, 55u, 56u, 95u, 97u, 0xffffu})
        malformed(OLAF_MALFORMED_LENGTH, with(good, good.l4 + 4, bytes, 2));
    malformed(OLAF_MALFORMED_LENGTH, with_ip(good, 2, good.size() - good.l3 + 2, 2));
}

TEST_F(HardwareReasons, FrameOrIpPacketEndsBeforeTheMessage) {
    for (const auto &frame : {good, tagged})
        for (std::size_t bytes = frame.message + 2; bytes < frame.size(); bytes++)
            malformed(OLAF_MALFORMED_TRUNCATED, truncated(frame, bytes));
    malformed(OLAF_MALFORMED_TRUNCATED, with_ip(good, 2, good.size() - good.l3 - 1, 2));
}

TEST_F(HardwareReasons, LanesFormatCountAndSegment) {
    malformed(OLAF_MALFORMED_LANES, ipv4().carrying(Update{.checksum = false, .lanes = {}}));
    malformed(OLAF_MALFORMED_LANES, ipv4().carrying(Update{.lanes = {}}));
    for (unsigned format = OLAF_FORMAT_F32X2; format < 16; format++)
        malformed(OLAF_MALFORMED_FORMAT, field(4, 1 | format << OLAF_FLAG_FORMAT_SHIFT, 2));
    malformed(OLAF_MALFORMED_COUNT, field(20, 0, 4));
    for (unsigned segment : {0u, 0x10001u, 0xffff0002u})
        malformed(OLAF_MALFORMED_SEGMENT, field(44, segment, 4));
}

TEST_F(HardwareReasons, Ipv4HeaderChecksumWithAndWithoutOptions) {
    const auto right = get_be(good.bytes, good.l3 + 10, 2);
    for (unsigned bit = 0; bit < 16; bit++)
        malformed(OLAF_MALFORMED_IP_CHECKSUM, with(good, good.l3 + 10, right ^ 1u << bit, 2));
    for (std::size_t at = 20; at < 60; at++) // each byte of the options counts
        malformed(OLAF_MALFORMED_IP_CHECKSUM, with(tagged, tagged.l3 + at, tagged.bytes[tagged.l3 + at] ^ 0x40u, 1));
}

TEST_F(HardwareReasons, UdpChecksumWhereNoLaneProtectsTheUpdate) {
    auto path = ipv4();
    for (int words = 0; words <= 10; words++) {
        path.options(static_cast<std::uint8_t>(4 * words));
        const auto bare = path.carrying(Update{.cluster = 1, .checksum = false, .lanes = {1, 2, 3, 4, 5, 6, 7, 8, 9}});
        for (std::size_t at = bare.message + 8; at < bare.size(); at += 5)
            malformed(OLAF_MALFORMED_UDP_CHECKSUM, with(bare, at, bare.bytes[at] ^ 0x11u, 1));
    }
}

TEST_F(HardwareReasons, OtherTrafficIsLeftAlone) {
    bypassed(OLAF_BYPASS_OTHER, ipv6().carrying(Update{.cluster = 1}));
    bypassed(OLAF_BYPASS_OTHER, ipv4().port(6524).carrying(Update{.cluster = 1}));
    bypassed(OLAF_BYPASS_OTHER, ipv4().vlan(1).vlan(2).vlan(3).carrying(Update{.cluster = 1}));
    bypassed(OLAF_BYPASS_OTHER, field(0, 0x01ae, 2));
    bypassed(OLAF_BYPASS_OTHER, with_ip(good, 6, 0x2000, 2)); // the first fragment
    bypassed(OLAF_BYPASS_OTHER, with_ip(good, 6, 0x0010, 2)); // a later one
    bypassed(OLAF_BYPASS_OTHER, with_ip(good, 9, 6, 1));      // TCP
    bypassed(OLAF_BYPASS_OTHER, with(good, good.l3, 0x44, 1));
    bypassed(OLAF_BYPASS_OTHER, with(good, good.l3, 0x65, 1));
    bypassed(OLAF_BYPASS_OTHER, ipv4().carrying(control_message()));
    bypassed(OLAF_BYPASS_OTHER, ipv4().carrying(Ack{.cluster = 1}));
    bypassed(OLAF_BYPASS_OTHER, truncated(good, good.message + 1));
    bypassed(OLAF_BYPASS_JOB, ipv4().carrying(JobMessage{.type = OLAF_CONTRIBUTION, .lanes = {1, 2}}));
    bypassed(OLAF_BYPASS_JOB, ipv4().carrying(JobMessage{.type = OLAF_RESULT, .lanes = {1, 2}}));
}

Setting narrow() {
    Setting out;
    out.asked.max_clusters = 8;
    out.asked.max_segments = 2;
    out.asked.max_lanes = 64;
    out.asked.mtu = 500;
    out.asked.verify = true;
    out.asked.own_only = true;
    out.asked.own = {0x0a000102, 0, 0x0a000109, 0};
    return out;
}

class HardwareRefusals : public HardwareReasons {
  protected:
    HardwareRefusals() : HardwareReasons(narrow()) {}
};

TEST_F(HardwareRefusals, ClustersSegmentsCountsAndSizes) {
    for (std::uint32_t cluster : {8u, 9u, 0x10001u, 0x80000000u, UINT32_MAX})
        refused(OLAF_NOT_ALLOWED_CLUSTER, ipv4().carrying(Update{.cluster = cluster}));
    refused(OLAF_NOT_ALLOWED_SEGMENT, ipv4().carrying(Update{.cluster = 1, .segments = 3}));
    refused(OLAF_NOT_ALLOWED_COUNT, ipv4().carrying(Update{.cluster = 1, .count = 257}));
    const std::vector<std::uint64_t> many(64), longer(53), fit(51);
    refused(OLAF_NOT_ALLOWED_SIZE, ipv4().carrying(Update{.cluster = 1, .lanes = many}));
    refused(OLAF_NOT_ALLOWED_SIZE, ipv4().carrying(Update{.cluster = 1, .lanes = longer}));
    refused(OLAF_NOT_ALLOWED_SIZE, ipv4().vlan(1).vlan(2).options(8).carrying(Update{.cluster = 1, .lanes = fit}));
    offer(ipv4().vlan(1).options(8).carrying(Update{.cluster = 1, .lanes = fit}));
    EXPECT_EQ(counter(OLAF_CARD_received), 1u);
}

TEST_F(HardwareRefusals, UpdatesForOthersAreLeftAlone) {
    bypassed(OLAF_BYPASS_FOREIGN, ipv4().target(3).carrying(Update{.cluster = 1}));
    offer(ipv4().target(9).carrying(Update{.cluster = 1}));
    EXPECT_EQ(counter(OLAF_CARD_received), 1u);
}

TEST_F(HardwareRefusals, VerifyAsksForEveryUdpChecksum) {
    malformed(OLAF_MALFORMED_UDP_CHECKSUM, field(30, 7, 1));
    offer(with(ipv4().without_udp_checksum().carrying(Update{.cluster = 1}), 60, 7, 1));
}

} // namespace
