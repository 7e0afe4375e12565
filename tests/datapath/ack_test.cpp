// SPDX-License-Identifier: BSD-2-Clause
// ACKs that leave by the queue's device: what is stamped into them, who is believed, and who gets a copy.
#include <algorithm>
#include <set>

#include "ack_test.hpp"
#include "defects.hpp"
#include "introduce.hpp"
#include "testbed.hpp"
#include "window_test.hpp"

namespace olaf::test::ack_test {
namespace {

// ---- Stamping: the queue's state in an ACK that leaves, its checksum right, nothing else changed.

class AckStamp : public AckTest {
  protected:
    AckStamp() { introduce_workers(queue); }
};

const Ack plain{.cluster = 3, .worker = 17, .sequence = 99, .model_version = 5};

TEST_F(AckStamp, CarriesTheStateInEveryHeaderForm) {
    make_active(2);
    for (const auto &path : ways_back()) {
        leaves_as(path, plain, stamped(plain, 2, 4, 2));
        auto weights = plain;
        weights.lanes = lanes_of(101);
        leaves_as(path, weights, stamped(weights, 2, 4, 2));
    }
    EXPECT_EQ(queue.ack_counters().stamped, 2 * ways_back().size());
    EXPECT_EQ(queue.ack_counters().recognised, 2 * ways_back().size());
}

TEST_F(AckStamp, OfAnIdleQueue) { leaves_as(answer(ipv4()), plain, stamped(plain, 0, 4, 0)); }

TEST_F(AckStamp, SaysCongestedOnlyWithMoreClustersThanPlaces) {
    make_active(4);
    leaves_as(answer(ipv4()), plain, stamped(plain, 4, 4, 4));
    make_active(5);
    auto congested = stamped(plain, 5, 4, 4);
    EXPECT_EQ(congested.state_flags, OLAF_FLAG_STAMPED | OLAF_FLAG_CONGESTED);
    leaves_as(answer(ipv4()), plain, congested);
}

TEST_F(AckStamp, WhatAnUnstampedAckSaysOfAQueueIsNotBelieved) {
    auto nonsense = plain;
    nonsense.state_flags = OLAF_FLAG_CONGESTED;
    nonsense.active_clusters = 65535;
    nonsense.queue_capacity = 1;
    leaves_as(answer(ipv6()), nonsense, stamped(plain, 0, 4, 0));
}

TEST_F(AckStamp, ReplacesOnlyALessCongestedQueuesState) {
    make_active(4); // 4 / 4, with 4 of 4 waiting
    const auto ours = stamped(plain, 4, 4, 4);
    for (const auto &path : ways_back()) {
        for (const auto &[active, capacity, length] :
             {std::tuple{9, 8u, 0u}, {65535, 1u, 0u}, {8, 8u, 8u}, {8, 8u, 9u}}) {
            const auto theirs = stamped(plain, static_cast<std::uint16_t>(active), capacity, length);
            leaves_as(path, theirs, theirs);
        }
        for (const auto &[active, capacity, length] :
             {std::tuple{0, 8u, 0u}, {7, 8u, 8u}, {8, 8u, 7u}, {65535, 65536u, 65536u}, {9, 0u, 9u}})
            leaves_as(path,
                      stamped(plain, static_cast<std::uint16_t>(active), capacity, length), ours);
    }
    EXPECT_EQ(queue.ack_counters().kept, 4 * ways_back().size());
    EXPECT_EQ(queue.ack_counters().stamped, 5 * ways_back().size());
}

TEST_F(AckStamp, ClearsTheOtherQueuesCongestion) {
    make_active(4);
    auto theirs = stamped(plain, 3, 4, 0);
    theirs.state_flags |= OLAF_FLAG_CONGESTED;
    leaves_as(answer(ipv4()), theirs, stamped(plain, 4, 4, 4));
}

TEST_F(AckStamp, KeepsTheBytesThatItDoesNotOwn) {
    // Flags without a meaning, and bytes behind the datagram.
    auto frame = answer(ipv4()).carrying(plain);
    set_be(frame.bytes, frame.message + 4, 0xf3f3 & ~(OLAF_FLAG_STAMPED | OLAF_FLAG_CONGESTED), 2);
    set_be(frame.bytes, frame.l4 + 6, udp_checksum(frame.bytes, frame.l3, frame.l4), 2);
    auto expected = answer(ipv4()).carrying(stamped(plain, 0, 4, 0)).bytes;
    set_be(expected, frame.message + 4,
           (0xf3f3 & ~OLAF_FLAG_CONGESTED) | OLAF_FLAG_STAMPED, 2);
    set_be(expected, frame.l4 + 6, udp_checksum(expected, frame.l3, frame.l4), 2);
    for (int padding : {0, 1, 30}) {
        frame.bytes.resize(frame.bytes.size() + static_cast<std::size_t>(padding), 0xee);
        expected.resize(frame.bytes.size(), 0xee);
        EXPECT_EQ(hex(queue.leave(frame).bytes), hex(expected));
    }
}

/// A wrong checksum stays as wrong as it was: nobody downstream takes a damaged ACK for a good one.
TEST_F(AckStamp, DoesNotRepairADamagedChecksum) {
    const auto path = answer(ipv4());
    auto frame = path.carrying(plain);
    auto expected = path.carrying(stamped(plain, 0, 4, 0)).bytes;
    for (auto *bytes : {&frame.bytes, &expected})
        bytes->at(frame.message + 16) ^= 0x40;
    const auto ran = queue.leave(frame);
    EXPECT_EQ(hex(ran.bytes), hex(expected));
    EXPECT_NE(get_be(ran.bytes, frame.l4 + 6, 2), udp_checksum(ran.bytes, frame.l3, frame.l4));
}

/// Every checksum that the difference can lead to, 0 (written 0xffff) among them.
TEST_F(AckStamp, ChecksumsAreRightForEveryContent) {
    make_active(3);
    for (std::uint32_t sequence = 0; sequence < 0x10000; sequence += 13) {
        auto ack = plain;
        ack.sequence = sequence;
        const auto ran = queue.leave(answer(ipv6()).carrying(ack));
        std::string why;
        ASSERT_TRUE(parse_ack(ran.bytes, &why)) << why << " " << sequence;
    }
}

TEST(AckStampLarge, ClustersBeyondTheFieldSaturateAndStillCongest) {
    auto config = acknowledging_queue();
    config.max_clusters = 65536;
    config.max_segments = 1;
    config.max_lanes = 16;
    Harness queue(config);
    const olaf_active many{.lock = 0,
                           .current_clusters = 65536,
                           .previous_clusters = 0,
                           .pad = 0,
                           .epoch_start_ns = monotonic_ns()};
    queue.set_active(many);
    introduce_workers(queue);
    const auto ran = queue.leave(answer(ipv4()).carrying(plain));
    EXPECT_EQ(hex(ran.bytes), hex(answer(ipv4()).carrying(stamped(plain, 65535, 4, 0)).bytes));
}

// ---- An ACK for every worker becomes one for each: addressed, tagged, numbered and summed for it.

olaf::DatapathConfig config_on(std::uint32_t ifindex) {
    auto config = acknowledging_queue();
    config.ifindex = ifindex;
    // Shorter than a guest has been up: its clock starts at 0, and a silence must fit before now.
    config.member_timeout_ns = 5'000'000'000;
    return config;
}

class AckCopy : public CopyTest {
  protected:
    AckCopy() : CopyTest([](const Testbed &net) { return config_on(net.near); }) {}
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
    queue.silence(cluster, 2, queue.config().member_timeout_ns);
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

// ---- Anybody can write an ACK: only one from where the cluster's members send to is the server's, and
// nobody gets two copies of it.

Path path_of(int family) { return family == 4 ? ipv4() : ipv6(); }

class AckForeign : public AckCopy, public testing::WithParamInterface<int> {
  protected:
    AckForeign() { queue.set_rule(cluster, rule(OLAF_POLICY_NEWEST)); } // one waits, however many come

    /// A worker's path, from a host and a port of its own.
    [[nodiscard]] Path worker(std::uint8_t id) const {
        return path_of(GetParam()).source(id).source_port(static_cast<std::uint16_t>(50000 + id));
    }
    /// The way back to that worker.
    [[nodiscard]] Path way_to(std::uint8_t id) const {
        return answer(path_of(GetParam())).target(id).port(static_cast<std::uint16_t>(50000 + id));
    }
    /// It passes untouched, and nobody else hears of it.
    void is_foreign(const Path &path, const Ack &sent) {
        const auto before = queue.ack_counters();
        passes(path.carrying(sent));
        const auto after = queue.ack_counters();
        EXPECT_EQ(after.foreign, before.foreign + 1);
        EXPECT_EQ(after.stamped, before.stamped);
        EXPECT_EQ(after.copies, before.copies);
        EXPECT_TRUE(out.empty());
    }
    /// Whom copies are for, once `copies` have come and no more do. Another CPU may still carry some.
    std::vector<std::uint32_t> copied_to(std::size_t copies) {
        std::vector<std::uint32_t> workers;
        while (workers.size() < copies || !out.empty()) {
            const auto copy = out.next();
            const auto parsed = copy ? parse_ack(*copy) : std::nullopt;
            if (!parsed)
                break;
            workers.push_back(parsed->ack.worker);
        }
        return workers;
    }
};

TEST_P(AckForeign, FromAnotherAddressItPassesUntouched) {
    for (const std::uint8_t id : {1, 2})
        hear(worker(id), id);
    auto mine = ack;
    for (const std::uint32_t addressee : {1u, 2u, 3u, 300u, OLAF_EVERY_WORKER}) {
        mine.worker = addressee;
        is_foreign(way_to(1).source(3), mine);
        is_foreign(way_to(9).source(3).vlan(5), mine);
    }
    EXPECT_EQ(queue.ack_counters().recognised, 0u);
}

TEST_P(AckForeign, FromTheServersAddressInTheOtherIpVersionToo) {
    hear(worker(1), 1);
    is_foreign(answer(path_of(10 - GetParam())), ack);
}

TEST_P(AckForeign, OfAClusterThatNobodyWasHeardOf) {
    hear(worker(1), 1);
    for (const std::uint32_t other : {0u, 7u, 8u, 0xffffffffu})
        is_foreign(way_to(1), Ack{.cluster = other});
}

TEST_P(AckForeign, FromTheAddressThatMembersSendToItIsStampedWhoeverItIsFor) {
    hear(worker(1), 1);
    for (const std::uint32_t addressee : {1u, 2u, 300u}) {
        const Ack mine{.cluster = cluster, .worker = addressee};
        leaves_as(way_to(9), mine, stamped(mine, 1, 4, 1));
    }
    EXPECT_EQ(queue.ack_counters().foreign, 0u);
    EXPECT_EQ(queue.ack_counters().stamped, 3u);
}

/// A stranger that takes a worker's place, sending elsewhere, makes its ACKs nobody's.
TEST_P(AckForeign, TheAddresseeAloneDoesNotDecide) {
    hear(worker(9).target(3), 2);
    hear(worker(1), 5);
    const Ack mine{.cluster = cluster, .worker = 2};
    leaves_as(way_to(2), mine, stamped(mine, 1, 4, 2)); // updates to two servers wait apart
}

TEST_P(AckForeign, MembersThatSendElsewhereGetNoCopy) {
    hear(worker(1), 1);
    hear(worker(2).target(3), 2);
    hear(worker(3), 3);
    queue.leave(way_to(1).carrying(ack));
    EXPECT_EQ(copied_to(1), (std::vector<std::uint32_t>{3}));
    EXPECT_EQ(queue.ack_counters().copies_foreign, 1u);
    queue.leave(way_to(9).source(3).carrying(ack)); // the other server's
    EXPECT_EQ(copied_to(1), (std::vector<std::uint32_t>{2}));
    EXPECT_EQ(queue.ack_counters().copies_foreign, 3u);
}

TEST_P(AckForeign, AnAddressAndPortGetsOneCopyWhoeverIsSaidToBeThere) {
    for (std::uint32_t id = 0; id < 200; id++) {
        if (id % 32 == 0)
            queue.admit_more(cluster);
        hear(worker(7), id); // in a victim's name
    }
    queue.admit_more(cluster);
    hear(worker(8), 200);
    hear(worker(7).source_port(1), 201);
    for (int i = 0; i < 3; i++) { // each ACK anew
        const auto before = queue.ack_counters();
        queue.leave(way_to(9).carrying(ack));
        EXPECT_EQ(copied_to(3), (std::vector<std::uint32_t>{0, 200, 201}));
        EXPECT_EQ(queue.ack_counters().copies_shared, before.copies_shared + 199);
    }
}

TEST_P(AckForeign, TheAddresseesAddressGetsTheAckItselfAndNoCopy) {
    for (const std::uint32_t id : {4u, 5u, 6u})
        hear(worker(7), id);
    const auto ran = queue.leave(way_to(7).carrying(ack));
    EXPECT_EQ(parse_ack(ran.bytes)->ack.worker, 4u);
    EXPECT_TRUE(out.empty());
    EXPECT_EQ(queue.ack_counters().copies_shared, 2u);
}

/// Hosts and ports that differ in few bits, as many as can be: none is taken for another.
TEST_P(AckForeign, DifferentAddressesAreNeverTakenForOne) {
    for (std::uint32_t id = 0; id < 256; id++) {
        if (id % 32 == 0)
            queue.admit_more(cluster);
        hear(path_of(GetParam())
                 .source(static_cast<std::uint8_t>(1 + id % 16))
                 .source_port(static_cast<std::uint16_t>(1 + id / 16)),
             id);
    }
    queue.leave(answer(path_of(GetParam())).target(99).carrying(ack));
    EXPECT_EQ(copied_to(256).size(), 256u);
    EXPECT_EQ(queue.ack_counters().copies, 256u);
    EXPECT_EQ(queue.ack_counters().copies_shared, 0u);
}

INSTANTIATE_TEST_SUITE_P(Ip, AckForeign, testing::Values(4, 6), by_version);

/// Nothing says yet which server is theirs; user space has said who they are.
TEST_F(AckTest, OfAClusterOfRegisteredWorkersOnlyEveryAckIsTheServers) {
    olaf_member registered{};
    registered.family = 4;
    registered.flags = OLAF_MEMBER_REGISTERED | OLAF_MEMBER_PORT_BOUND;
    registered.addr_be[0] = 0x0100000a;
    registered.port_be = 7;
    queue.set_member(cluster, 1, registered);
    queue.set_roster(cluster, {.end = 2, .pad = 0, .admitted = 0});
    const Ack mine{.cluster = cluster, .worker = 1};
    leaves_as(answer(ipv4()), mine, stamped(mine, 0, 4, 0));
    registered.last_seen_ns = monotonic_ns(); // it has sent to another server
    queue.set_member(cluster, 1, registered);
    passes(answer(ipv4()).carrying(mine));
    EXPECT_EQ(queue.ack_counters().foreign, 1u);
}

class WindowForeign : public WindowTest {
  protected:
    WindowForeign() : WindowTest(windowed_queue({.most = 1})) {}
};

TEST_F(WindowForeign, AStrangersAckOpensNothing) {
    const auto update = fresh(1);
    ASSERT_TRUE(offer(update));
    const auto frame = answer(ipv4()).source(3).carrying(ack_of(update));
    EXPECT_EQ(hex(queue.leave(frame).bytes), hex(frame.bytes));
    EXPECT_EQ(queue.window().in_flight, 1u);
    EXPECT_EQ(queue.window().acked + queue.window().unmatched, 0u);
    acknowledge(update);
    EXPECT_EQ(queue.window().in_flight, 0u);
}

// ---- What leaves by the queue's device and is no ACK of ours stays as it is, byte for byte.

class AckBypass : public AckTest {
  protected:
    /// What came from the server would be stamped: only for what it is does it pass.
    AckBypass() {
        introduce_workers(queue);
        for (const auto &frame : {ack4, ack6})
            EXPECT_NE(hex(queue.leave(frame).bytes), hex(frame.bytes));
    }

    Frame ack4 = answer(ipv4()).carrying(Ack{.lanes = {1, 2, 3}});
    Frame ack6 = answer(ipv6()).carrying(Ack{.lanes = {1, 2, 3}});
};

TEST_F(AckBypass, OtherMessages) {
    passes(answer(ipv4()).carrying(Update{}));
    passes(answer(ipv6()).carrying(control_message()));
    passes(ipv4().carrying(Ack{})); // to our port, not from it
    passes(answer(ipv4()).source_port(6524).carrying(Ack{}));
    for (const auto &frame : {ack4, ack6}) {
        passes(with(frame, frame.message, 0xaf01, 2));     // magic
        passes(with(frame, frame.message + 2, 2, 1));      // version
        for (int type : {0, 1, 3, 255})
            passes(with(frame, frame.message + 3, type, 1));
    }
}

TEST_F(AckBypass, LengthsThatDisagree) {
    for (const auto &frame : {ack4, ack6}) {
        for (int lanes : {0, 2, 4, 0xffff})
            passes(with(frame, frame.message + 6, lanes, 2));
        for (int bytes : {0, 7, 8, 55, 56, 79, 81, 0xffff})
            passes(with(frame, frame.l4 + 4, bytes, 2));
    }
    const int total4 = 20 + 8 + 48 + 24, payload6 = 8 + 48 + 24;
    for (int off : {-1, 1, 8}) {
        passes(with_ip(ack4, 2, static_cast<std::uint64_t>(total4 + off), 2));
        passes(with_ip(ack6, 4, static_cast<std::uint64_t>(payload6 + off), 2));
    }
}

TEST_F(AckBypass, TruncatedAnywhere) {
    for (const auto &frame : {ack4, ack6, answer(ipv4()).vlan(1).vlan(2).carrying(Ack{}),
                              answer(ipv6()).hop_by_hop(24).carrying(Ack{})})
        // The test runner takes no IP frame without its IP header.
        for (std::size_t bytes = frame.l3 + 40; bytes < frame.size(); bytes++)
            passes(truncated(frame, bytes));
}

TEST_F(AckBypass, OtherProtocolsAndHeadersThatAreNotOursToTakeApart) {
    for (const auto &frame : foreign_frames(
             [](const Path &path) { return answer(path).carrying(Ack{.lanes = {1, 2, 3}}); }))
        passes(frame);
}

} // namespace
} // namespace olaf::test::ack_test
