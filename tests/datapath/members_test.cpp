// SPDX-License-Identifier: BSD-2-Clause
// Who is learnt from which update, and who isn't.
#include <arpa/inet.h>

#include "queue_test.hpp"

namespace olaf::test::members_test {
namespace {

class Members : public QueueTest {
  protected:
    Members() { queue.link_busy(); }

    void hear(const Path &path, std::uint32_t worker, std::uint32_t cluster = 1) {
        queue.offer(path.carrying(Update{.cluster = cluster, .worker = worker}));
    }
};

TEST_F(Members, AnUpdateSaysHowItsWorkerIsReached) {
    const Mac mac = {2, 0, 0, 0, 9, 9};
    const auto before = monotonic_ns();
    hear(ipv4().from(mac).source(17).source_port(1234).service_vlan(8).vlan(9), 5);
    const auto member = queue.member(1, 5);
    EXPECT_EQ(member.sequence, 2u);
    EXPECT_EQ(member.family, 4);
    EXPECT_EQ(member.flags, 0);
    EXPECT_GE(member.last_seen_ns, before);
    EXPECT_LE(member.last_seen_ns, monotonic_ns());
    EXPECT_EQ(ntohl(member.addr_be[0]), 0x0a000011u);
    EXPECT_EQ(ntohl(member.local_addr_be[0]), 0x0a000102u);
    EXPECT_EQ(ntohs(member.port_be), 1234);
    EXPECT_TRUE(std::ranges::equal(member.mac, mac));
    EXPECT_EQ(member.tags, 2);
    EXPECT_EQ(ntohs(member.tag[0].proto_be), 0x88a8);
    EXPECT_EQ(ntohs(member.tag[0].tci_be), 8);
    EXPECT_EQ(ntohs(member.tag[1].proto_be), 0x8100);
    EXPECT_EQ(ntohs(member.tag[1].tci_be), 9);
    EXPECT_EQ(queue.roster(1).end, 6u);
}

TEST_F(Members, OverIpv6AsWell) {
    hear(ipv6().hop_by_hop(8).source(17).source_port(1234), 0);
    const auto member = queue.member(1, 0);
    EXPECT_EQ(member.family, 6);
    EXPECT_EQ(ntohl(member.addr_be[0]), 0xfd000000u);
    EXPECT_EQ(ntohl(member.addr_be[3]), 17u);
    EXPECT_EQ(ntohl(member.local_addr_be[1]), 1u);
    EXPECT_EQ(ntohl(member.local_addr_be[3]), 2u);
    EXPECT_EQ(member.tags, 0);
    EXPECT_EQ(member.tag[0].proto_be, 0);
}

TEST_F(Members, WhatIsKnownIsNotWrittenAgain) {
    for (const auto &path : {ipv4(), ipv6(), ipv4().vlan(3)}) {
        hear(path, 1);
        const auto known = queue.member(1, 1);
        for (int i = 0; i < 20; i++)
            hear(path, 1);
        EXPECT_EQ(queue.member(1, 1).sequence, known.sequence);
        EXPECT_EQ(queue.member(1, 1).last_seen_ns, known.last_seen_ns);
    }
}

TEST_F(Members, AnotherMacAddressAndOtherTagsAreFollowedAtOnce) {
    hear(ipv4(), 1);
    std::uint32_t writes = 2;
    for (const auto &path : {ipv4().from({2, 2, 2, 2, 2, 2}), ipv4().vlan(7).from({2, 2, 2, 2, 2, 3}),
                             ipv4().service_vlan(9).vlan(7)}) {
        hear(path, 1);
        writes += 2;
        EXPECT_EQ(queue.member(1, 1).sequence, writes);
    }
    EXPECT_EQ(queue.member(1, 1).tags, 2);
    EXPECT_EQ(queue.ack_counters().takeovers_refused, 0u);
}

TEST_F(Members, SilenceIsNoticedLateByARefreshAtMost) {
    hear(ipv4(), 1);
    auto known = queue.member(1, 1);
    const auto refresh = olaf_member_refresh_ns(queue.config().member_timeout_ns);
    known.last_seen_ns -= refresh;
    queue.set_member(1, 1, known);
    hear(ipv4(), 1);
    EXPECT_EQ(queue.member(1, 1).sequence, known.sequence + 2);
    EXPECT_GT(queue.member(1, 1).last_seen_ns, known.last_seen_ns + refresh - 1);
}

TEST_F(Members, WorkersWithoutAPlaceAreCountedAndNothingGrows) {
    for (const std::uint32_t worker : {256u, 257u, 0xfffffffeu, 0xffffffffu})
        hear(ipv4(), worker);
    EXPECT_EQ(queue.ack_counters().unplaced, 4u);
    EXPECT_EQ(queue.totals().received, 4u);
    for (std::uint32_t cluster = 0; cluster < queue.config().max_clusters; cluster++) {
        EXPECT_EQ(queue.roster(cluster).end, 0u);
        for (std::uint32_t worker = 0; worker < queue.config().max_workers; worker++)
            ASSERT_EQ(queue.member(cluster, worker).sequence, 0u);
    }
}

TEST_F(Members, NobodyIsLearntFromWhatIsRefused) {
    queue.offer(ipv4().carrying(Update{.cluster = 1, .worker = 1, .count = 0}));
    queue.offer(ipv4().carrying(Update{.cluster = 8, .worker = 1}));
    queue.offer(ipv4().carrying(control_message()));
    queue.offer(ipv4().carrying(Ack{.cluster = 1, .worker = 1}));
    EXPECT_EQ(queue.roster(1).end, 0u);
}

} // namespace
} // namespace olaf::test::members_test
