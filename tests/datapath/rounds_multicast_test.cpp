// SPDX-License-Identifier: BSD-2-Clause
// Results by multicast: one frame for all children, and what doesn't leave so.
#include <arpa/inet.h>
#include <linux/pkt_cls.h>

#include "rounds_test.hpp"
#include "testbed.hpp"

namespace olaf::test::rounds_multicast_test {
namespace {

constexpr std::uint32_t everyone = OLAF_EVERY_WORKER;

/// 239.129.2.3 or ff02::8123:203: the highest bit of the second byte isn't part of IPv4's MAC address.
void set_group(olaf_job_setup &setup, int family) {
    setup.group_family = static_cast<std::uint32_t>(family);
    setup.group_hops = 1;
    if (family == 4)
        setup.group_addr_be[0] = htonl(0xef810203);
    else {
        setup.group_addr_be[0] = htonl(0xff020000);
        setup.group_addr_be[3] = htonl(0x81230203);
    }
}

olaf_job_setup by_multicast(int family) {
    auto setup = small_job();
    set_group(setup, family);
    return setup;
}

olaf::DatapathConfig config_for(const Testbed &net) {
    auto config = queue_with_rounds();
    config.ifindex = net.near;
    config.mac = net.near_mac;
    return config;
}

class RoundsMulticast : protected InTestbed,
                        public RoundsTest,
                        public testing::WithParamInterface<int> {
  protected:
    RoundsMulticast() : RoundsTest(by_multicast(GetParam()), config_for(net)), far(net.far) {}

    Ran offer_here(const JobMessage &message) { return offer(message, GetParam()); }
    Ran complete(std::uint32_t chunk) {
        dropped(offer_here(contribution(0, chunk)));
        return offer_here(contribution(1, chunk));
    }

    /// A frame for all: MAC address, address, port and hops of the group, from where members send to.
    JobMessage sent_to_all(const Ran &ran, std::uint8_t hops = 1) {
        const auto received = sent_back(ran);
        if (!received)
            return {};
        const auto &frame = received->frame;
        EXPECT_EQ(frame.family, GetParam());
        EXPECT_EQ(received->port, OLAF_DEFAULT_PORT);
        const auto mac = GetParam() == 4 ? Bytes{0x01, 0x00, 0x5e, 0x01, 0x02, 0x03} :
                                           Bytes{0x33, 0x33, 0x81, 0x23, 0x02, 0x03};
        EXPECT_EQ(Bytes(frame.bytes.begin(), frame.bytes.begin() + 6), mac);
        const auto there = path_of(0, GetParam()).carrying(JobMessage{}).bytes;
        const std::size_t width = GetParam() == 4 ? 4 : 16, at = GetParam() == 4 ? 12 : 8;
        const auto address = [&](const Bytes &bytes, std::size_t l3, std::size_t which) {
            const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(l3 + at + which * width);
            return Bytes(begin, begin + static_cast<std::ptrdiff_t>(width));
        };
        EXPECT_EQ(address(frame.bytes, frame.l3, 0), address(there, 14, 1));
        const auto *group = reinterpret_cast<const std::uint8_t *>(setup.group_addr_be);
        EXPECT_EQ(address(frame.bytes, frame.l3, 1), Bytes(group, group + width));
        EXPECT_EQ(frame.bytes[frame.l3 + (GetParam() == 4 ? 8 : 7)], hops);
        return received->message;
    }

    /// The result of that chunk waits in line for all members, as if its frame hadn't been.
    void owe_again(std::uint32_t chunk) {
        auto changed = slot(chunk);
        changed.buffer[0].owed.word[0] = 3;
        set_slot(chunk, changed);
        auto line = job();
        line.line[0].head--;
        set_job(line);
        identities_hold = false;
    }

    Capture far;
};

INSTANTIATE_TEST_SUITE_P(OfBothFamilies, RoundsMulticast, testing::Values(4, 6),
                         [](const auto &info) { return "Ipv" + std::to_string(info.param); });

TEST_P(RoundsMulticast, AResultLeavesInOneFrameForAll) {
    EXPECT_EQ(sent_to_all(complete(0)), result(everyone, {0, 1}, 0));
    dropped(offer_here(contribution(0, 1)));
    EXPECT_EQ(counters().completed, 1u);
    EXPECT_EQ(counters().multicast, 1u);
    EXPECT_EQ(counters().riding, 0u);
    EXPECT_EQ(owed(), 0u);
}

TEST_P(RoundsMulticast, ItTravelsAsFarAsTheJobSays) {
    auto far_away = by_multicast(GetParam());
    far_away.group_hops = 200;
    begin(far_away);
    sent_to_all(complete(0), 200);
}

TEST_P(RoundsMulticast, WhoAsksAgainIsAnsweredAlone) {
    sent_to_all(complete(0));
    EXPECT_EQ(sent_to(1, offer_here(contribution(1, 0)), GetParam()), result(1, {0, 1}, 0));
    EXPECT_EQ(counters().repeated, 1u);
    EXPECT_EQ(counters().multicast, 1u);
}

TEST_P(RoundsMulticast, WhoAsksBeforeItHasLeftTakesNothingFromTheOthers) {
    sent_to_all(complete(0));
    owe_again(0);
    EXPECT_EQ(sent_to(0, offer_here(contribution(0, 0)), GetParam()), result(0, {0, 1}, 0));
    EXPECT_EQ(counters().repeated, 1u);
    EXPECT_EQ(sent_to_all(offer_here(contribution(0, 1))), result(everyone, {0, 1}, 0));
    EXPECT_EQ(owed(), 0u);
}

TEST_P(RoundsMulticast, WhenAFlushComesAllThatWaitsIsOneFrameEach) {
    sent_to_all(complete(0));
    sent_to_all(complete(1));
    owe_again(0);
    owe_again(1);
    auto flushing = contribution(0, 2);
    flushing.flags |= OLAF_FLAG_FLUSH;
    const auto order = offer_here(flushing);
    EXPECT_STREQ(verdict_name(order.verdict), "XDP_PASS");
    const auto ran = run_tc(queue.queue().program_fd("olaf_copies"), order.bytes, net.near);
    EXPECT_EQ(ran.verdict, std::uint32_t{TC_ACT_SHOT});
    for (const std::uint32_t chunk : {0u, 1u}) {
        const auto copy = far.next();
        ASSERT_TRUE(copy);
        EXPECT_EQ(sent_to_all({.verdict = XDP_TX, .bytes = *copy}),
                  result(everyone, {0, 1}, chunk));
    }
    EXPECT_TRUE(far.empty());
    EXPECT_EQ(counters().multicast, 4u);
    EXPECT_EQ(counters().copied, 0u);
}

TEST_P(RoundsMulticast, AFlushThatCompletesAChunkCarriesItItself) {
    dropped(offer_here(contribution(0, 0)));
    auto last = contribution(1, 0);
    last.flags |= OLAF_FLAG_FLUSH;
    EXPECT_EQ(sent_to_all(offer_here(last)), result(everyone, {0, 1}, 0));
}

TEST_P(RoundsMulticast, AResultThatLacksAMemberIsEachOnesOwn) {
    auto one_is_enough = by_multicast(GetParam());
    one_is_enough.threshold = 1;
    begin(one_is_enough);
    auto partial = result(0, {0}, 0);
    partial.flags |= OLAF_FLAG_PARTIAL;
    EXPECT_EQ(sent_to(0, offer_here(contribution(0, 0)), GetParam()), partial);
    auto late = partial;
    late.rank = 1;
    late.flags |= OLAF_FLAG_LATE;
    EXPECT_EQ(sent_to(1, offer_here(contribution(1, 0)), GetParam()), late);
    EXPECT_EQ(counters().multicast, 0u);
    EXPECT_EQ(counters().riding, 2u);
}

TEST_P(RoundsMulticast, MembersOfTheOtherIpVersionGetTheirOwnFrames) {
    const int other = GetParam() == 4 ? 6 : 4;
    dropped(offer(contribution(0, 0), other));
    EXPECT_EQ(sent_to(0, offer(contribution(1, 0), other), other), result(0, {0, 1}, 0));
    EXPECT_EQ(counters().multicast, 0u);
}

TEST_P(RoundsMulticast, VlanTagsAreThoseOfTheMembers) {
    const auto tagged = [&](std::uint32_t rank) {
        return offer(contribution(rank, 0), path_of(rank, GetParam()).vlan(7));
    };
    dropped(tagged(0));
    const auto ran = tagged(1);
    sent_to_all(ran);
    EXPECT_EQ(Bytes(ran.bytes.begin() + 12, ran.bytes.begin() + 16), (Bytes{0x81, 0, 0, 7}));
}

} // namespace
} // namespace olaf::test::rounds_multicast_test
