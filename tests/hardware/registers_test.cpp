// SPDX-License-Identifier: BSD-2-Clause
// What a loader sees of a card: who it is, what it can, and that configuration changes as one or not at all.
#include "hardware_test.hpp"

using namespace olaf::test;

namespace {

using HardwareRegisters = HardwareTest;

TEST_F(HardwareRegisters, TellWhoItIsAndWhatItCan) {
    auto &card = both.card;
    EXPECT_EQ(card.read(OLAF_REGISTER_MAGIC), std::uint32_t{OLAF_CARD_MAGIC});
    EXPECT_EQ(card.read(OLAF_REGISTER_LAYOUT), std::uint32_t{OLAF_CARD_LAYOUT});
    EXPECT_EQ(card.read(OLAF_REGISTER_PLACES), 8u);
    EXPECT_EQ(card.read(OLAF_REGISTER_CLUSTERS), 128u);
    EXPECT_EQ(card.read(OLAF_REGISTER_SLOTS), 128u);
    EXPECT_EQ(card.read(OLAF_REGISTER_LANES), 1152u);
    EXPECT_EQ(card.read(OLAF_REGISTER_NS_PER_CYCLE), 4u);
    EXPECT_EQ(card.read(OLAF_REGISTER_FEATURES), 1u << OLAF_CARD_FEATURE_REWARD_FILTER | 1u << OLAF_CARD_FEATURE_RATE |
                                                     1u << OLAF_CARD_FEATURE_ACK_STAMPS);
    EXPECT_EQ(card.read(0xf0), 0u); // not there
}

TEST_F(HardwareRegisters, ReadBackAsWritten) {
    auto &card = both.card;
#define CHECK(NAME, offset, bits, access, meaning)                                                 \
    if (std::string_view(#access) == "rw") {                                                       \
        card.write(offset, 5);                                                                     \
        EXPECT_EQ(card.read(offset), 5u) << #NAME;                                                 \
    }
    OLAF_REGISTER_LIST(CHECK)
#undef CHECK
    card.write(OLAF_REGISTER_PORT, 0x12345);
    EXPECT_EQ(card.read(OLAF_REGISTER_PORT), 0xffffu); // more than it holds
}

TEST_F(HardwareRegisters, FenceIsPassedAtOnceAndSnapshotsAreCounted) {
    auto &card = both.card;
    for (const std::uint32_t number : {1u, 0xfffffffeu, 0u}) {
        card.write(OLAF_REGISTER_FENCE, number);
        EXPECT_EQ(card.read(OLAF_REGISTER_FENCED), number);
    }
    const auto before = card.read(OLAF_REGISTER_SNAPSHOTS);
    card.snapshot();
    card.snapshot();
    EXPECT_EQ(card.read(OLAF_REGISTER_SNAPSHOTS), before + 2);
    EXPECT_EQ(card.read(OLAF_REGISTER_SNAPSHOT), 0u) << "is written only";
    EXPECT_EQ(card.read(OLAF_REGISTER_COMMIT), 0u) << "is written only";
}

TEST_F(HardwareRegisters, RefuseACommitBeyondTheirCapabilities) {
    auto &card = both.card;
    const struct {
        std::uint32_t offset, good;
        std::vector<std::uint32_t> bad;
    } limits[] = {{OLAF_REGISTER_QUEUE_CAPACITY, 8, {0, 9, 0x100, UINT32_MAX}},
                  {OLAF_REGISTER_MAX_CLUSTERS, 128, {0, 129, 0x10000}},
                  {OLAF_REGISTER_MAX_SEGMENTS, 1, {0, 2, 0x10001}},
                  {OLAF_REGISTER_MAX_LANES, 1152, {0, 1153}},
                  {OLAF_REGISTER_ACTIVITY_WINDOW, 1024, {0, 1023}}};
    for (const auto &limit : limits) {
        for (const auto bad : limit.bad) {
            card.write(limit.offset, bad);
            EXPECT_FALSE(card.commit()) << limit.offset << " " << bad;
        }
        card.write(limit.offset, limit.good);
        EXPECT_TRUE(card.commit()) << limit.offset;
    }
    card.write(OLAF_REGISTER_MAX_CLUSTERS, 64);
    card.write(OLAF_REGISTER_MAX_SEGMENTS, 2);
    EXPECT_TRUE(card.commit());
}

TEST_F(HardwareRegisters, RulesAreReadBackAndBeginAsTheKernels) {
    auto &card = both.card;
    const auto at = OLAF_REGISTER_RULE + OLAF_REGISTER_STRIDE_RULE * 127u;
    EXPECT_EQ(card.read(at), std::uint32_t{OLAF_POLICY_OLAF});
    EXPECT_EQ(card.read(at + 4), std::uint32_t{OLAF_DEFAULT_MAX_COUNT});
    EXPECT_EQ(card.read64(at + 8), UINT64_MAX);
    card.set_rule(127, {OLAF_POLICY_NEWEST, 77, 0x123456789abcdef0});
    EXPECT_EQ(card.read(at), std::uint32_t{OLAF_POLICY_NEWEST});
    EXPECT_EQ(card.read(at + 4), 77u);
    EXPECT_EQ(card.read64(at + 8), 0x123456789abcdef0u);
}

TEST_F(HardwareRegisters, ARuleChangesWithItsLastWordAlone) {
    auto &card = both.card;
    const auto at = OLAF_REGISTER_RULE + OLAF_REGISTER_STRIDE_RULE * 3u;
    card.write(at, OLAF_POLICY_FIFO);
    card.write(at + 4, 1);
    card.write(at + 8, 0);
    EXPECT_EQ(card.read(at), std::uint32_t{OLAF_POLICY_OLAF});
    EXPECT_EQ(card.read(at + 4), std::uint32_t{OLAF_DEFAULT_MAX_COUNT});
    card.write(at + 12, 0);
    EXPECT_EQ(card.read(at), std::uint32_t{OLAF_POLICY_FIFO});
    card.set_rule(3, {OLAF_POLICY_OLAF, 256, -1});
}

TEST(HardwareOff, PassesEverythingUncountedAndLetsGoWhatWaits) {
    Card card;
    std::vector<Beats> out;
    card.received = [&](Card::Way, const Beats &frame) { out.push_back(frame); };
    const auto frames = {ipv4().carrying(Update{}).bytes, with(ipv4().carrying(Update{}), 44, 9, 1).bytes,
                         ipv4().carrying(Ack{}).bytes};
    for (const auto &frame : frames) {
        card.send(Card::up, {frame, 1});
        card.send(Card::down, {frame, 1});
    }
    card.cycles(200);
    EXPECT_EQ(out.size(), 2 * frames.size());
    card.snapshot();
    for (unsigned i = 0; i < OLAF_CARD_COUNTERS; i++)
        EXPECT_EQ(card.counter(i), 0u) << i;

    out.clear();
    card.write64(OLAF_REGISTER_NS_PER_BYTE_Q24, 0xffffffffff); // hours a frame
    card.write(OLAF_REGISTER_CONTROL, 1);
    ASSERT_TRUE(card.commit());
    for (int i = 0; i < 3; i++)
        card.send(Card::up, {ipv4().carrying(Update{.cluster = static_cast<std::uint32_t>(i)}).bytes, 1});
    card.cycles(200);
    EXPECT_EQ(out.size(), 1u) << "the first passes, the others wait";
    card.write(OLAF_REGISTER_CONTROL, 0);
    card.write64(OLAF_REGISTER_NS_PER_BYTE_Q24, 0);
    ASSERT_TRUE(card.commit());
    card.cycles(200);
    EXPECT_EQ(out.size(), 3u);
    EXPECT_EQ(card.read(OLAF_REGISTER_STATUS), 1u | 8u) << "ready, off, empty";
}

/// Sums of the field count of updates that came out of a card.
class HardwareCommit : public testing::Test {
  protected:
    static constexpr std::uint32_t frames = 24;

    HardwareCommit() {
        card.received = [this](Card::Way, const Beats &frame) {
            if (frame.bytes.size() > 60) // no ARP
                out += get_be(frame.bytes, 14 + 20 + 8 + 20, 4);
        };
    }
    void send_updates() {
        for (std::uint32_t i = 0; i < frames; i++)
            card.send(Card::up, {ipv4().carrying(Update{.cluster = i % 4, .worker = i}).bytes, 1});
    }
    void commit(std::uint32_t control) {
        card.write(OLAF_REGISTER_CONTROL, control);
        ASSERT_TRUE(card.commit());
    }
    /// Nothing was refused or dropped.
    void expect_all() {
        card.cycles(2000);
        EXPECT_EQ(out, frames);
        card.snapshot();
        for (unsigned i = 0; i < OLAF_NOT_ALLOWED_REASONS; i++)
            EXPECT_EQ(card.counter(OLAF_CARD_not_allowed + i), 0u) << i;
        EXPECT_EQ(card.counter(OLAF_CARD_updates_dropped), 0u);
    }

    Card card;
    std::uint64_t out = 0;
};

TEST_F(HardwareCommit, ThatTurnsItOnAmongFramesLosesNone) {
    for (unsigned cycles = 0; cycles < 60; cycles++) {
        SCOPED_TRACE(cycles);
        card.reset(); // judges by limits of 0 until its first commit
        out = 0;
        send_updates();
        card.cycles(cycles);
        commit(1);
        expect_all();
    }
}

TEST_F(HardwareCommit, ThatTurnsItOffAmongFramesLosesNone) {
    for (unsigned cycles = 0; cycles < 60; cycles++) {
        SCOPED_TRACE(cycles);
        out = 0;
        commit(1);
        send_updates();
        card.cycles(cycles);
        commit(0);
        expect_all();
        EXPECT_EQ(card.read(OLAF_REGISTER_STATUS), 1u | 8u) << "ready, off, empty";
    }
}

TEST_F(HardwareCommit, ThatTurnsItOffLeavesItUnemptyUntilWhatItAdmittedHasLeft) {
    commit(1);
    card.blocked = true;
    // What passes waits for the output, and the update's verdict behind it.
    for (int i = 0; i < 12; i++)
        card.send(Card::up, {Bytes(60, 0xff), 1});
    card.send(Card::up, {ipv4().carrying(Update{}).bytes, 1});
    card.cycles(200);
    commit(0);
    EXPECT_EQ(card.read(OLAF_REGISTER_STATUS), 1u) << "ready, off, not empty";
    card.blocked = false;
    card.cycles(200);
    EXPECT_EQ(out, 1u);
    EXPECT_EQ(card.read(OLAF_REGISTER_STATUS), 1u | 8u) << "ready, off, empty";
}

} // namespace
