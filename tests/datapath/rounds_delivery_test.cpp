// SPDX-License-Identifier: BSD-2-Clause
// How results leave: in frames that come, in clones, and by multicast.
#include <arpa/inet.h>
#include <linux/pkt_cls.h>

#include "rounds_clones.hpp"

namespace olaf::test::rounds_delivery_test {
namespace {

// ---- Results that no frame will come for: XDP hands TC an order, and TC sends them as clones.

class RoundsCopies : public RoundsWithClones, public testing::WithParamInterface<int> {
  protected:
    RoundsCopies() : RoundsWithClones(job_of(3)) {}
    Ran offer_here(const JobMessage &message) { return offer(message, GetParam()); }
};

INSTANTIATE_TEST_SUITE_P(OfBothFamilies, RoundsCopies, both_families, family_name);

TEST_P(RoundsCopies, WhenAFlushComesTheRestLeavesInClones) {
    dropped(offer_here(contribution(0, 0)));
    dropped(offer_here(contribution(1, 0)));
    const auto clones = clones_of(offer_here(flushing(contribution(2, 0))));
    ASSERT_EQ(clones.size(), 3u);
    for (const std::uint32_t rank : {0u, 1u, 2u})
        EXPECT_EQ(sent_to(rank, clones[rank], GetParam()), result(rank, {0, 1, 2}, 0));
    EXPECT_EQ(counters().copied, 3u);
    EXPECT_EQ(owed(), 0u);
}

TEST_P(RoundsCopies, WhenTheLineIsLongTheRestLeavesInClones) {
    for (const std::uint32_t chunk : {0u, 1u, 2u}) {
        dropped(offer_here(contribution(0, chunk)));
        dropped(offer_here(contribution(1, chunk)));
    }
    // Each completes a chunk and carries one result away.
    sent_to(0, offer_here(contribution(2, 0)), GetParam());
    sent_to(1, offer_here(contribution(2, 1)), GetParam());
    const auto clones = clones_of(offer_here(contribution(2, 2)));
    ASSERT_EQ(clones.size(), 7u);
    for (std::uint32_t i = 0; i < 7; i++) { // the rest of chunk 0, and two whole ones
        const auto rank = (i + 2) % 3, chunk = (i + 2) / 3;
        EXPECT_EQ(sent_to(rank, clones[i], GetParam()), result(rank, {0, 1, 2}, chunk));
    }
    EXPECT_EQ(counters().riding, 2u);
    EXPECT_EQ(counters().copied, 7u);
}

TEST_P(RoundsCopies, FramesThatAreNoOrderPassUntouched) {
    for (const auto &frame : {path_of(0, GetParam()).carrying(contribution(0, 0)),
                              path_of(0, GetParam()).carrying(Update{})}) {
        const auto ran = run_tc(queue.queue().program_fd("olaf_copies"), frame.bytes, net.near);
        EXPECT_EQ(ran.verdict, static_cast<std::uint32_t>(TC_ACT_UNSPEC));
        EXPECT_EQ(hex(ran.bytes), hex(frame.bytes));
    }
}

// ---- A line whose first results nobody is owed any more, as all have asked for them.

class RoundsInLine : public RoundsWithClones {
  protected:
    RoundsInLine() : RoundsWithClones(any_of_four()) {}
    static olaf_job_setup any_of_four() {
        auto setup = small_job();
        setup.children = 4;
        setup.threshold = 1;
        setup.pool = 6;
        setup.slots = 64;
        return setup;
    }
    /// The first child alone completes 24 chunks. Its frames take the results of the first six away.
    void fill() {
        for (std::uint32_t rank = 1; rank < 4; rank++) { // by a probe each is known
            auto probe = contribution(rank, 0);
            probe.lanes.clear();
            dropped(offer(probe));
        }
        for (std::uint32_t chunk = 0; chunk < 24; chunk++)
            sent_to(chunk % 4, offer(contribution(0, chunk)));
        EXPECT_EQ(owed(), 72u);
    }
    /// All ask for the next ones of these.
    void ask_until(std::uint32_t end) {
        for (std::uint32_t chunk = 6; chunk < end; chunk++)
            for (std::uint32_t rank = 0; rank < 4; rank++)
                EXPECT_EQ(sent_to(rank, offer(contribution(rank, chunk))).chunk, chunk);
        EXPECT_EQ(owed(), 4 * (24 - end));
    }
};

TEST_F(RoundsInLine, AFlushSendsWhatIsBehindAFewThatNobodyIsOwed) {
    fill();
    ask_until(6 + 5);
    EXPECT_EQ(clones_of(offer(flushing(contribution(0, 24)))).size(), 4u * (24 - 11 + 1));
    EXPECT_EQ(owed(), 0u);
}

TEST_F(RoundsInLine, AFlushSendsWhatIsBehindManyThatNobodyIsOwed) {
    fill();
    ask_until(6 + 16);
    EXPECT_EQ(clones_of(offer(flushing(contribution(0, 24)))).size(), 4u * (24 - 22 + 1));
    EXPECT_EQ(owed(), 0u);
}

// ---- Results by multicast: one frame for all children, and what doesn't leave so.

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

class RoundsMulticast : public RoundsWithClones, public testing::WithParamInterface<int> {
  protected:
    RoundsMulticast() : RoundsWithClones(by_multicast(GetParam())) {}

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
};

INSTANTIATE_TEST_SUITE_P(OfBothFamilies, RoundsMulticast, both_families, family_name);

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
    const auto clones = clones_of(offer_here(flushing(contribution(0, 2))));
    ASSERT_EQ(clones.size(), 2u);
    for (const std::uint32_t chunk : {0u, 1u})
        EXPECT_EQ(sent_to_all(clones[chunk]), result(everyone, {0, 1}, chunk));
    EXPECT_EQ(counters().multicast, 4u);
    EXPECT_EQ(counters().copied, 0u);
}

TEST_P(RoundsMulticast, AFlushThatCompletesAChunkCarriesItItself) {
    dropped(offer_here(contribution(0, 0)));
    EXPECT_EQ(sent_to_all(offer_here(flushing(contribution(1, 0)))), result(everyone, {0, 1}, 0));
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
} // namespace olaf::test::rounds_delivery_test
