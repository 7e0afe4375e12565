// SPDX-License-Identifier: BSD-2-Clause
// What random updates meet seldom: rewards just at the threshold, and an output that takes nothing for long.
#include "hardware_test.hpp"

using namespace olaf::test;

namespace {

class HardwareSlots : public HardwareTest {
  protected:
    // A link on which an update takes 50 us: the first one passes, and the others wait for longer than
    // the test sends.
    HardwareSlots() : HardwareTest({.queue_capacity = 4, .ns_per_byte_q24 = 400ull << 24, .asked = {}}) {
        offer(ipv4().carrying(Update{.cluster = 100}));
    }
};

TEST_F(HardwareSlots, TheRewardFilterIsExactAtItsThreshold) {
    both.set_rule(3, {OLAF_POLICY_OLAF, 256, 10});
    const auto with_reward = [&](std::uint32_t worker, std::int64_t reward) {
        offer(ipv4().carrying(Update{.cluster = 3, .worker = worker, .reward = reward}));
    };
    with_reward(1, 100), with_reward(2, 110); // within: sum 210 of two, mean 105
    with_reward(3, 94);                        // lower by 11
    with_reward(4, 95);                        // lower by 10: 305 of three
    with_reward(5, 112);                       // higher by 10 1/3
    with_reward(6, INT64_MIN);
    with_reward(7, INT64_MAX);
    const std::map<std::string, std::uint64_t> happened{
        {"passed_through", 1}, {"appended", 1}, {"aggregated", 2}, {"dropped_reward", 2}, {"replaced", 2}};
    EXPECT_EQ(both.seen, happened);
}

// An update takes 5.5 us on this link: what follows the first is queued.
class HardwareBlocked : public HardwareTest {
  protected:
    HardwareBlocked() : HardwareTest({.ns_per_byte_q24 = 40ull << 24, .asked = {}}) {}
};

TEST_F(HardwareBlocked, ADepartureThatWaitedForHundredsOfUpdatesLeaves) {
    for (std::uint32_t cluster = 1; cluster < 4; cluster++)
        offer(ipv4().carrying(Update{.cluster = cluster}));
    both.card.blocked = true;
    both.card.cycles(6000);
    EXPECT_EQ(both.seen["departed"], 2u) << "one is on its way, one is next";
    for (std::uint32_t sequence = 0; sequence < 200; sequence++)
        offer(ipv4().carrying(Update{.cluster = 9, .sequence = sequence}));
    EXPECT_EQ(both.seen["replaced"], 199u);
    both.card.blocked = false;
}

// An idle link has credit for some twenty updates. Each is of two beats, so that it is decided on two cycles
// behind the one before.
TEST_F(HardwareBlocked, UpdatesThatFollowEachOtherAtOncePassNoLongerThanTheLinkHasCredit) {
    both.card.cycles(30'000);
    constexpr std::uint32_t updates = 30;
    for (std::uint32_t cluster = 0; cluster < updates; cluster++)
        both.send(ipv4().carrying(Update{.cluster = cluster, .lanes = {1}}).bytes);
    both.card.cycles(600);
    EXPECT_GT(both.seen["passed_through"], 20u);
    EXPECT_EQ(both.seen["passed_through"] + both.seen["appended"], updates);
}

// One's complement has two zeros, and UDP says by the other one that there is no checksum.
TEST_F(HardwareBlocked, ADepartureWhoseWordsAddUpToZeroHasAChecksum) {
    const auto with_lane = [](std::uint64_t lane) {
        return ipv4().carrying(Update{.cluster = 2, .checksum = false, .lanes = {lane}});
    };
    const auto checksum_of = [](const Frame &frame) { return get_be(frame.bytes, frame.message - 2, 2); };
    const auto lane = __builtin_bswap16(static_cast<std::uint16_t>(checksum_of(with_lane(0))));
    ASSERT_EQ(checksum_of(with_lane(lane)), 0xffffu);
    offer(ipv4().carrying(Update{.cluster = 1}));
    offer(with_lane(lane));
    EXPECT_EQ(both.seen["appended"], 1u);
}

} // namespace
