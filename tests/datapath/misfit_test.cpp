// SPDX-License-Identifier: BSD-2-Clause
// An update that can't be merged into what waits, because its shape or its way out is another.
#include "queue_test.hpp"

namespace olaf::test::misfit_test {
namespace {

class Misfit : public QueueTest {
  protected:
    static void dropped_misfit(Totals &t) {
        t.received++;
        t.updates_in++;
        t.dropped_misfit++;
        t.updates_dropped++;
    }
    static void aggregated(Totals &t) {
        t.received++;
        t.updates_in++;
        t.aggregated++;
    }
    static void replaced(Totals &t) {
        t.received++;
        t.updates_in++;
        t.replaced++;
        t.updates_superseded++;
    }

    static Frame from(std::uint32_t worker, Path path = ipv4()) {
        return path.without_udp_checksum().carrying(Update{.cluster = 1, .worker = worker});
    }
    static Frame shaped(std::uint32_t worker, std::vector<std::uint64_t> lanes) {
        return ipv4().without_udp_checksum().carrying(
            Update{.cluster = 1, .worker = worker, .lanes = std::move(lanes)});
    }
};

/// Ways out that differ from ipv4()'s in one thing each.
std::vector<Path> other_ways() {
    return {ipv6(),
            ipv4().target(9),
            ipv4().vlan(7),
            ipv4().service_vlan(7),
            ipv4().vlan(7).vlan(8),
            ipv4().to({2, 0, 0, 0, 0, 0x77})};
}

TEST_F(Misfit, OfAnotherWayOutTakesTheSecondBufferAndFoldsWithItsOwn) {
    for (const auto &other : other_ways()) {
        queue.reset();
        append(from(1));
        append(from(2, other));
        const auto mine = from(3);
        consumes(mine, aggregated);
        consumes(from(4, other), aggregated);
        const auto waiting = queue.waiting();
        ASSERT_EQ(waiting.size(), 2u);
        EXPECT_EQ(hex(waiting[0].headers), hex(std::span(mine.bytes).first(mine.message)));
        EXPECT_EQ(waiting[0].pending.worker, 3u);
        EXPECT_EQ(waiting[0].pending.count, 2u);
        EXPECT_EQ(waiting[1].pending.worker, 4u);
        EXPECT_EQ(waiting[1].pending.count, 2u);
    }
}

TEST_F(Misfit, TagsDifferByPriorityAndByTheInnerOne) {
    append(from(1, ipv4().vlan(0x2007).vlan(8)));
    append(from(2, ipv4().vlan(0x4007).vlan(8)));
    consumes(from(3, ipv4().vlan(0x2007).vlan(9)), dropped_misfit);
    consumes(from(4, ipv4().vlan(0x2007).vlan(8)), aggregated);
}

TEST_F(Misfit, EveryWordOfAnIPv6DestinationCounts) {
    const Frame first = ipv6().carrying(Update{.cluster = 1, .worker = 1});
    for (std::size_t word = 0; word < 4; word++) {
        queue.reset();
        append(first);
        auto other = first;
        other.bytes[first.l3 + 24 + 4 * word] ^= 1;
        queue.own(other);
        append(other);
        EXPECT_EQ(queue.waiting().size(), 2u) << word;
    }
}

/// The bytes of an IPv6 source address that stand where IPv4 has its destination.
TEST_F(Misfit, IpVersionsThatLookAlikeDoNotFold) {
    const Frame four = from(1);
    Frame six = from(2, ipv6());
    std::copy_n(&four.bytes[four.l3 + 16], 4, &six.bytes[six.l3 + 16]);
    append(six);
    append(four);
    EXPECT_EQ(queue.waiting().size(), 2u);
}

TEST_F(Misfit, HeadersThatDoNotDecideTheWayOutMayDiffer) {
    append(from(1, ipv4().vlan(7)));
    consumes(from(2, ipv4().vlan(7).options(8).source(9).ttl(3).tos(4).source_port(9)), aggregated);
    EXPECT_EQ(queue.waiting().at(0).headers.size(), 42u + 4 + 8);
}

TEST_F(Misfit, NeverClosesWhatWaits) {
    append(shaped(1, {1, 2, 3}));
    append(shaped(2, {1}));
    for (std::uint32_t i = 0; i < 100; i++)
        consumes(shaped(3 + i, {1, 2, 3}), aggregated);
    EXPECT_EQ(queue.waiting().at(0).pending.count, 101u);
    EXPECT_EQ(queue.waiting().at(1).pending.count, 1u);
}

TEST_F(Misfit, FindsBothBuffersTakenAndIsDropped) {
    append(shaped(1, {1, 2, 3}));
    append(shaped(2, {1, 2}));
    consumes(shaped(3, {1}), dropped_misfit);
    consumes(shaped(4, {1, 2}), aggregated);
    consumes(shaped(4, {1, 2, 3}), aggregated);
}

TEST_F(Misfit, FindsNoPlaceAndIsDropped) {
    append(shaped(1, {1, 2, 3}));
    for (std::uint32_t cluster = 2; cluster < 5; cluster++)
        append(ipv4().carrying(Update{.cluster = cluster}));
    consumes(shaped(3, {1}), dropped_misfit);
    consumes(shaped(4, {1, 2, 3}), aggregated);
}

TEST_F(Misfit, OfAnotherFormatOrWithoutAChecksumLaneCountsAsAnotherShape) {
    append(ipv4().carrying(Update{.cluster = 2}));
    append(ipv4().carrying(Update{.cluster = 2, .format = OLAF_FORMAT_I16X4}));
    consumes(ipv4().carrying(Update{.cluster = 2, .checksum = false, .lanes = {1, 2, 3, 4, 5}}),
             dropped_misfit);
}

TEST_F(Misfit, IsNotReplacedAndReplacesNothing) {
    queue.set_rule(1, rule(OLAF_POLICY_NEWEST));
    append(from(1));
    append(from(1, ipv4().target(9)));
    consumes(from(1), replaced);
    consumes(from(1, ipv4().target(9)), replaced);
    consumes(from(1, ipv4().target(8)), dropped_misfit);
}

TEST_F(Misfit, LeavesWithItsOwnHeadersInItsTurn) {
    append(from(1));
    append(from(2, ipv4().target(9)));
    consumes(from(3), aggregated);
    queue.link_free();
    Frame first = ipv4().without_udp_checksum().carrying(
        Update{.cluster = 1, .worker = 3, .count = 2, .extra_flags = OLAF_FLAG_AGGREGATED,
               .lanes = {2, 4, 6, 8}});
    expect_sent(queue.offer(ipv4().carrying(Update{.cluster = 5})), first.bytes);
    queue.link_free();
    expect_sent(queue.offer(ipv4().carrying(Update{.cluster = 6})),
                from(2, ipv4().target(9)).bytes);
}

TEST_F(Misfit, ACountAboveMaxCountIsRefused) {
    for (const std::uint32_t count : {257u, 4'000'000'000u, UINT32_MAX}) {
        auto before = queue.totals();
        queue.link_free();
        EXPECT_EQ(queue.offer(ipv4().carrying(Update{.cluster = 1, .count = count})).verdict,
                  XDP_DROP);
        before.not_allowed++;
        EXPECT_EQ(queue.totals(), before);
    }
    EXPECT_EQ(queue.counters().not_allowed[OLAF_NOT_ALLOWED_COUNT], 3u);
    append(ipv4().carrying(Update{.cluster = 1, .count = 256}));
}

} // namespace
} // namespace olaf::test::misfit_test
