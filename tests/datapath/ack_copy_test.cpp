// SPDX-License-Identifier: BSD-2-Clause
// An ACK for every worker becomes one for each: addressed, tagged, numbered and summed for it.
#include <algorithm>
#include <set>

#include "ack_test.hpp"
#include "testbed.hpp"

namespace olaf::test::ack_copy_test {
namespace {

constexpr std::uint32_t cluster = 1;

olaf::DatapathConfig config_on(std::uint32_t ifindex) {
    auto config = acknowledging_queue();
    config.ifindex = ifindex;
    // Shorter than a guest has been up: its clock starts at 0, and a silence must fit before now.
    config.member_timeout_ns = 5'000'000'000;
    return config;
}

/// One worker: what its updates come in, and what an ACK to it goes out in.
struct Someone {
    std::uint32_t worker;
    Path update, ack;
};

/// Host `worker` of the workers' network, from a port and a MAC address of its own.
Someone someone(std::uint32_t worker, int family = 4) {
    const auto host = static_cast<std::uint8_t>(worker);
    const auto port = static_cast<std::uint16_t>(50000 + worker);
    const Mac mac = {2, 0, 0, 0, 7, host};
    const auto path = family == 4 ? ipv4() : ipv6();
    return {.worker = worker,
            .update = Path(path).from(mac).source(host).source_port(port),
            .ack = answer(path).to(mac).target(host).port(port)};
}

class AckCopy : private InTestbed, public AckTest {
  protected:
    AckCopy() : AckTest(config_on(net.near)), out(net.far) { queue.link_busy(); }

    void hear(const Someone &worker) {
        queue.offer(worker.update.carrying(Update{.cluster = cluster, .worker = worker.worker}));
    }

    /// What the queue says of itself in ACKs: one cluster is active.
    Ack for_worker(Ack ack, std::uint32_t worker) const {
        const auto ring = queue.ring();
        ack.worker = worker;
        return stamped(ack, 1, 4, static_cast<std::uint32_t>(ring.tail - ring.head));
    }
    Bytes to(const Someone &worker, const Ack &ack) const {
        return worker.ack.carrying(for_worker(ack, worker.worker)).bytes;
    }

    Capture out;
    const Ack ack{.cluster = cluster, .sequence = 77, .model_version = 9, .lanes = lanes_of(5)};
};

TEST_F(AckCopy, EachWorkerGetsItsOwnAndTheAckItselfIsOneOfThem) {
    const std::vector workers{someone(1), someone(2), someone(7), someone(255)};
    for (const auto &worker : workers)
        hear(worker);
    const auto ran = queue.leave(workers[2].ack.carrying(ack));
    EXPECT_EQ(ran.verdict, tc_unspec);
    EXPECT_EQ(hex(ran.bytes), hex(to(workers[2], ack)));
    for (const auto index : {0u, 1u, 3u}) {
        const auto copy = out.next();
        ASSERT_TRUE(copy);
        EXPECT_EQ(hex(*copy), hex(to(workers[index], ack)));
    }
    EXPECT_TRUE(out.empty());
    const auto counters = queue.ack_counters();
    EXPECT_EQ(counters.recognised, 1u);
    EXPECT_EQ(counters.stamped, 1u);
    EXPECT_EQ(counters.copied, 1u);
    EXPECT_EQ(counters.copies, 3u);
    EXPECT_EQ(counters.copies_refused + counters.copies_unreachable + counters.copies_unfit, 0u);
}

TEST_F(AckCopy, WithoutMembersItPassesAsItIs) {
    passes(answer(ipv4()).carrying(ack));
    EXPECT_EQ(queue.ack_counters().foreign, 1u);
    EXPECT_TRUE(out.empty());
}

TEST_F(AckCopy, AnAckForOneWorkerIsNotCopied) {
    hear(someone(1));
    hear(someone(2));
    auto mine = ack;
    mine.worker = 2;
    const auto path = someone(2).ack;
    EXPECT_EQ(hex(queue.leave(path.carrying(mine)).bytes), hex(to(someone(2), mine)));
    EXPECT_TRUE(out.empty());
}

TEST_F(AckCopy, OfOtherClustersNobodyGetsOne) {
    hear(someone(1));
    auto other = ack;
    other.cluster = cluster + 1;
    queue.leave(someone(1).ack.carrying(other));
    other.cluster = 0xffffffff;
    queue.leave(someone(1).ack.carrying(other));
    EXPECT_TRUE(out.empty());
}

TEST_F(AckCopy, AnAddresseeWhoIsNoMemberKeepsItsAck) {
    hear(someone(1));
    const auto stranger = someone(99).ack;
    const auto ran = queue.leave(stranger.carrying(ack));
    EXPECT_EQ(ran.verdict, tc_unspec);
    EXPECT_EQ(hex(ran.bytes), hex(stranger.carrying(stamped(ack, 1, 4, 1)).bytes));
    EXPECT_EQ(hex(*out.next()), hex(to(someone(1), ack)));
}

TEST_F(AckCopy, OneToAGroupIsReplacedByItsCopies) {
    hear(someone(1));
    const Mac group = {0x01, 0, 0x5e, 0, 0, 9};
    EXPECT_EQ(queue.leave(someone(99).ack.to(group).carrying(ack)).verdict,
              static_cast<std::uint32_t>(TC_ACT_STOLEN));
    EXPECT_EQ(hex(*out.next()), hex(to(someone(1), ack)));
    EXPECT_TRUE(out.empty());
}

/// Where the device takes none, the ACK is what it was: perhaps somebody else can use it.
TEST(AckCopyRefused, TheAckGoesOn) {
    auto config = config_on(0); // no device has this index
    Harness queue(config);
    queue.set_drain_deadline(UINT64_MAX / 2);
    const auto worker = someone(1);
    queue.link_busy();
    queue.offer(worker.update.carrying(Update{.cluster = cluster, .worker = 1}));
    for (const Mac &mac : {Mac{0x01, 0, 0x5e, 0, 0, 9}, Mac{2, 0, 0, 0, 0, 9}}) {
        auto path = someone(99).ack;
        path.to(mac);
        const Ack ack{.cluster = cluster};
        const auto ran = queue.leave(path.carrying(ack));
        EXPECT_EQ(ran.verdict, tc_unspec);
        EXPECT_EQ(hex(ran.bytes), hex(path.carrying(stamped(ack, 1, 4, 1)).bytes));
    }
    EXPECT_EQ(queue.ack_counters().copies_refused, 2u);
    EXPECT_EQ(queue.ack_counters().copies + queue.ack_counters().copied, 0u);
}

TEST_F(AckCopy, EveryHeaderFormIsKeptButForWhereItGoes) {
    for (const int family : {4, 6})
        for (std::uint32_t worker : {1u, 2u})
            hear(someone(worker + (family == 6 ? 100 : 0), family));
    for (const bool checksum : {true, false}) {
        auto first = someone(1), second = someone(2);
        for (auto *worker : {&first, &second}) {
            worker->ack.options(8).ttl(3).tos(0x2e);
            if (!checksum)
                worker->ack.without_udp_checksum();
        }
        EXPECT_EQ(hex(queue.leave(first.ack.carrying(ack)).bytes), hex(to(first, ack)));
        EXPECT_EQ(hex(*out.next()), hex(to(second, ack)));
    }
    auto first = someone(101, 6), second = someone(102, 6);
    first.ack.hop_by_hop(24).ttl(7);
    second.ack.hop_by_hop(24).ttl(7);
    EXPECT_EQ(hex(queue.leave(second.ack.carrying(ack)).bytes), hex(to(second, ack)));
    EXPECT_EQ(hex(*out.next()), hex(to(first, ack)));
    EXPECT_TRUE(out.empty());
    EXPECT_EQ(queue.ack_counters().copies_unreachable, 3 * 2u); // of the other IP version
}

TEST_F(AckCopy, TagsAreTheMembers) {
    std::vector<Someone> workers;
    for (std::uint32_t worker = 1; worker <= 5; worker++)
        workers.push_back(someone(worker));
    for (auto *path : {&workers[1].update, &workers[1].ack})
        path->vlan(100);
    for (auto *path : {&workers[2].update, &workers[2].ack})
        path->service_vlan(200).vlan(100);
    for (auto *path : {&workers[3].update, &workers[3].ack})
        path->vlan(100);
    for (auto *path : {&workers[4].update, &workers[4].ack})
        path->vlan(0xeffe); // priority bits are the worker's as well
    for (const auto &worker : workers)
        hear(worker);
    for (const auto &addressee : workers) {
        const auto ran = queue.leave(addressee.ack.carrying(ack));
        EXPECT_EQ(ran.verdict, tc_unspec);
        std::set<std::string> expected, copies;
        for (const auto &worker : workers)
            if (worker.worker != addressee.worker)
                expected.insert(hex(to(worker, ack)));
        for (std::size_t i = 0; i < expected.size(); i++)
            copies.insert(hex(out.next().value_or(Bytes{})));
        EXPECT_EQ(copies, expected) << addressee.worker;
    }
    EXPECT_TRUE(out.empty());
}

TEST_F(AckCopy, AWholeTableOfWorkers) {
    queue.set_rule(cluster, rule(OLAF_POLICY_NEWEST)); // one waits, however many come
    std::set<std::string> expected, copies;
    for (std::uint32_t worker = 0; worker < 256; worker++) {
        if (worker % 32 == 0)
            queue.admit_more(cluster);
        hear(someone(worker));
        expected.insert(hex(to(someone(worker), ack)));
    }
    hear(someone(256)); // has no place: another's address
    copies.insert(hex(queue.leave(someone(128).ack.carrying(ack)).bytes));
    for (int i = 0; i < 255; i++) {
        const auto copy = out.next();
        ASSERT_TRUE(copy) << i;
        copies.insert(hex(*copy));
    }
    EXPECT_TRUE(copies == expected);
    EXPECT_TRUE(out.empty());
    EXPECT_EQ(queue.ack_counters().copies, 255u);
    EXPECT_EQ(queue.ack_counters().unplaced, 1u);
}

TEST_F(AckCopy, WhoWasSilentForTooLongGetsNone) {
    hear(someone(1));
    hear(someone(2));
    auto silent = queue.member(cluster, 2);
    silent.last_seen_ns = time_before_ns(queue.config().member_timeout_ns);
    queue.set_member(cluster, 2, silent);
    queue.leave(someone(1).ack.carrying(ack));
    EXPECT_TRUE(out.empty());
    hear(someone(2));
    queue.leave(someone(1).ack.carrying(ack));
    EXPECT_EQ(hex(*out.next()), hex(to(someone(2), ack)));
}

/// One worker's ACK goes where its server sent it, wherever that worker was last heard.
TEST_F(AckCopy, OneWorkersIsNeitherCopiedNorTurned) {
    for (std::uint32_t worker : {2, 3})
        hear(someone(worker));
    auto mine = ack;
    mine.worker = 2;
    const auto elsewhere = someone(3).ack;
    const auto ran = queue.leave(elsewhere.carrying(mine));
    EXPECT_EQ(ran.verdict, tc_unspec);
    EXPECT_EQ(parse_ack(ran.bytes)->ack.worker, 2u);
    const auto sent = elsewhere.carrying(mine).bytes;
    EXPECT_EQ(hex(std::span(ran.bytes).first(38)), hex(std::span(sent).first(38))); // to the ports
    EXPECT_TRUE(out.empty());
    EXPECT_EQ(queue.ack_counters().copies, 0u);
}

/// One that is written all the time is left out and counted, and the rest get theirs.
TEST_F(AckCopy, AMemberThatIsBeingWrittenIsLeftOut) {
    for (std::uint32_t worker : {1, 2, 3})
        hear(someone(worker));
    auto written = queue.member(cluster, 2);
    written.sequence |= 1;
    queue.set_member(cluster, 2, written);
    queue.leave(someone(1).ack.carrying(ack));
    EXPECT_EQ(hex(*out.next()), hex(to(someone(3), ack)));
    EXPECT_TRUE(out.empty());
    EXPECT_EQ(queue.ack_counters().copies_unreachable, 1u);
}

} // namespace
} // namespace olaf::test::ack_copy_test
