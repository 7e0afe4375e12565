// SPDX-License-Identifier: BSD-2-Clause
// Every reason by which a card drops a message or leaves it alone, one at a time.
#include "hardware_test.hpp"
#include "tests/datapath/defects.hpp"

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
};

TEST_F(HardwareReasons, OfUpdatesWithADefect) {
    for (const auto &path : {ipv4(), ipv4().service_vlan(5).vlan(7).options(40)})
        for (const auto &[reason, frame] : defects_on(path)) {
            SCOPED_TRACE(hex(frame.bytes));
            malformed(reason, frame);
        }
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
    const auto carry = [](const Path &path) { return path.carrying(Update{.cluster = 1}); };
    for (const auto &frame : foreign_frames(carry)) {
        SCOPED_TRACE(hex(frame.bytes));
        bypassed(OLAF_BYPASS_OTHER, frame);
    }
    const Frame good = carry(ipv4());
    bypassed(OLAF_BYPASS_OTHER, carry(ipv6()));
    bypassed(OLAF_BYPASS_OTHER, carry(ipv4().port(6524)));
    bypassed(OLAF_BYPASS_OTHER, with(good, good.message, 0x01ae, 2));
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
    const Frame good = ipv4().carrying(Update{.cluster = 1});
    malformed(OLAF_MALFORMED_UDP_CHECKSUM, with(good, good.message + 30, 7, 1));
    offer(with(ipv4().without_udp_checksum().carrying(Update{.cluster = 1}), 60, 7, 1));
}

} // namespace
