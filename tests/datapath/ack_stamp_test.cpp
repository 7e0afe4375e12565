// SPDX-License-Identifier: BSD-2-Clause
// Stamping: the queue's state in an ACK that leaves, its checksum right, nothing else changed.
#include "ack_test.hpp"
#include "introduce.hpp"

namespace olaf::test::ack_stamp_test {
namespace {

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

} // namespace
} // namespace olaf::test::ack_stamp_test
