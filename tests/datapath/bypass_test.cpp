// SPDX-License-Identifier: BSD-2-Clause
// What isn't the queue's goes on as it came; what isn't well formed is dropped.
#include "defects.hpp"
#include "queue_test.hpp"
#include "testbed.hpp"
#include "upstream.hpp"

namespace olaf::test::bypass_test {
namespace {

// ---- Traffic that is none of our business goes up the stack as it came.

class Bypass : public QueueTest {
  protected:
    /// Also with something waiting and the link free: nobody rides on a stranger's frame.
    void bypasses(const Bytes &bytes) {
        auto before = queue.totals();
        expect_sent(queue.offer(bytes), bytes);
        before.bypassed++;
        EXPECT_EQ(queue.totals(), before);
    }
    void bypasses(const Frame &frame) { bypasses(frame.bytes); }

    Bypass() {
        append(ipv4().carrying(Update{.cluster = 1}));
        queue.link_free();
    }

    Frame update4 = ipv4().carrying(Update{.cluster = 1});
    Frame update6 = ipv6().carrying(Update{.cluster = 1});
};

TEST_F(Bypass, AcksAndControlMessages) {
    for (const auto &path : {ipv4(), ipv6(), ipv4().vlan(1).vlan(2), ipv6().hop_by_hop()}) {
        bypasses(path.carrying(Ack{.cluster = 1}));
        bypasses(path.carrying(Ack{.cluster = 1, .lanes = lanes_of(9)}));
        bypasses(path.carrying(control_message()));
    }
}

TEST_F(Bypass, OtherPortsAndPayloads) {
    bypasses(ipv4().port(6524).carrying(Update{}));
    bypasses(ipv4().source_port(6523).port(1).carrying(Update{}));
    bypasses(with(update4, update4.message, 0xaf01, 2));
    for (std::size_t payload : {0, 1, 2, 47})
        bypasses(ipv4().carrying(Bytes(payload, 0x55)));
}

TEST_F(Bypass, OtherProtocolsAndHeadersThatAreNotOursToTakeApart) {
    for (const auto &frame :
         foreign_frames([](const Path &path) { return path.carrying(Update{.cluster = 1}); }))
        bypasses(frame);
}

TEST_F(Bypass, FramesTooShortToTell) {
    for (const Frame &frame : {update4, update6, ipv4().vlan(1).vlan(2).carrying(Update{}),
                               ipv6().hop_by_hop(24).carrying(Update{})})
        for (std::size_t bytes = 14; bytes < frame.message + 2; bytes++)
            bypasses(truncated(frame, bytes));
}

TEST_F(Bypass, MessagesOfJobsWhereNoneCanBe) {
    for (const auto type : {OLAF_CONTRIBUTION, OLAF_RESULT, OLAF_CONTROL})
        bypasses(ipv4().carrying(JobMessage{.type = type, .lanes = {1, 2}}));
    EXPECT_EQ(queue.counters().bypassed[OLAF_BYPASS_JOB], 2u);
}

TEST_F(Bypass, JumboFramesOfOthers) { bypasses(with_ip(ipv4().carrying(Bytes(8000, 7)), 9, 6, 1)); }

// ---- With --local and --upstream the queue takes what is addressed to this host, and nothing else.

/// To a host of another network, which nobody said is this one.
Frame to_another(const Path &path) {
    const Frame frame = path.carrying(Update{.cluster = 1});
    const std::size_t target = frame.family == 4 ? 16 : 24;
    return with_ip(frame, target, frame.bytes[frame.l3 + target] ^ 1u, 1);
}

class Ours : private InTestbed, public QueueTest, public testing::WithParamInterface<olaf_deliver> {
  protected:
    Ours()
        : QueueTest(GetParam() == OLAF_DELIVER_LOCAL ? small_queue()
                                                     : upstream_of(small_queue(), net.near, 4)) {}
};

TEST_P(Ours, WhatIsAddressedToAnotherHostBypasses) {
    for (const bool busy : {false, true})
        for (const auto &path : {ipv4(), ipv6(), ipv4().vlan(7), ipv6().hop_by_hop()}) {
            busy ? queue.link_busy() : queue.link_free();
            const auto before = queue.counters().bypassed[OLAF_BYPASS_FOREIGN];
            const auto frame = to_another(path);
            const auto ran = queue.offer(frame);
            EXPECT_EQ(ran.verdict, XDP_PASS);
            EXPECT_EQ(hex(ran.bytes), hex(frame.bytes));
            EXPECT_EQ(queue.counters().bypassed[OLAF_BYPASS_FOREIGN], before + 1);
        }
    EXPECT_EQ(queue.totals().received, 0u);
}

TEST_P(Ours, ItTakesNothingAlongOfWhatWaits) {
    const auto mine = ipv4().carrying(Update{.cluster = 1});
    append(mine);
    queue.link_free();
    const auto frame = to_another(ipv4());
    EXPECT_EQ(hex(queue.offer(frame).bytes), hex(frame.bytes));
    EXPECT_EQ(queue.waiting().size(), 1u);
    EXPECT_EQ(queue.totals().updates_out, 0u);
}

INSTANTIATE_TEST_SUITE_P(Deliver, Ours, testing::Values(OLAF_DELIVER_LOCAL, OLAF_DELIVER_UPSTREAM),
                         [](const auto &info) {
                             return info.param == OLAF_DELIVER_LOCAL ? "Local" : "Upstream";
                         });

// ---- What is not a valid update for us: malformed (counted by reason, dropped), refused, bypassed.

class Malformed : public QueueTest {
  protected:
    void rejects(const Frame &frame, olaf_malformed reason) {
        auto before = queue.counters();
        EXPECT_STREQ(verdict_name(queue.offer(frame).verdict), "XDP_DROP");
        auto after = queue.counters();
        before.malformed[reason]++;
        for (int i = 0; i < OLAF_MALFORMED_REASONS; i++)
            EXPECT_EQ(after.malformed[i], before.malformed[i]) << "reason " << i;
        EXPECT_EQ(after.received, before.received);
        for (int i = 0; i < OLAF_BYPASS_REASONS; i++)
            EXPECT_EQ(after.bypassed[i], before.bypassed[i]);
    }
};

TEST_F(Malformed, EachDefectIsCountedAsItself) {
    for (const auto &path : {ipv4(), ipv4().service_vlan(5).vlan(7).options(40), ipv6().vlan(7).hop_by_hop()})
        for (const auto &[reason, frame] : defects_on(path)) {
            SCOPED_TRACE(hex(frame.bytes));
            rejects(frame, reason);
        }
}

TEST_F(Malformed, NeverDisturbsWhatWaits) {
    const Frame good = ipv4().carrying(Update{.cluster = 1});
    append(good);
    queue.link_free();
    rejects(with(good, good.message + 20, 0, 4), OLAF_MALFORMED_COUNT);
    EXPECT_EQ(queue.waiting().size(), 1u);
    EXPECT_EQ(queue.totals().departed_riding, 0u);
}

class Refused : public QueueTest {
  protected:
    explicit Refused(const olaf::DatapathConfig &config = small_queue()) : QueueTest(config) {}

    void refuses(const Frame &frame, olaf_not_allowed reason) {
        auto before = queue.counters();
        EXPECT_STREQ(verdict_name(queue.offer(frame).verdict), "XDP_DROP");
        auto after = queue.counters();
        before.not_allowed[reason]++;
        for (int i = 0; i < OLAF_NOT_ALLOWED_REASONS; i++)
            EXPECT_EQ(after.not_allowed[i], before.not_allowed[i]) << "reason " << i;
        EXPECT_EQ(after.received, before.received);
    }
};

TEST_F(Refused, ClustersThatAreNotConfigured) {
    for (std::uint32_t cluster : {8u, 9u, 0x8000'0000u, UINT32_MAX})
        refuses(ipv4().carrying(Update{.cluster = cluster}), OLAF_NOT_ALLOWED_CLUSTER);
    append(ipv4().carrying(Update{.cluster = 7}));
}

TEST_F(Refused, MoreSegmentsThanConfigured) {
    refuses(ipv4().carrying(Update{.segment = 0, .segments = 3}), OLAF_NOT_ALLOWED_SEGMENT);
    refuses(ipv4().carrying(Update{.segment = 2, .segments = 0xffff}), OLAF_NOT_ALLOWED_SEGMENT);
}

TEST_F(Refused, MoreLanesThanConfigured) {
    refuses(ipv4().carrying(Update{.lanes = lanes_of(64)}), OLAF_NOT_ALLOWED_SIZE);
    refuses(ipv4().carrying(Update{.lanes = lanes_of(1119)}), OLAF_NOT_ALLOWED_SIZE);
    append(ipv4().carrying(Update{.lanes = lanes_of(63)}));
}

class RefusedSource : public Refused {
  protected:
    RefusedSource() : Refused(small_queue([](auto &config) { config.allow_list = true; })) {}

    void allow(std::uint32_t bits, const Bytes &address) {
        olaf_prefix prefix{.prefix_bits = bits, .address = {}};
        std::copy(address.begin(), address.end(), prefix.address);
        queue.write("olaf_allow", prefix, 1u);
    }
};

TEST_F(RefusedSource, OutsideTheAllowList) {
    refuses(ipv4().source(1).carrying(Update{}), OLAF_NOT_ALLOWED_SOURCE);
    refuses(ipv6().source(1).carrying(Update{}), OLAF_NOT_ALLOWED_SOURCE);
    allow(96 + 31, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 4});
    refuses(ipv4().source(3).carrying(Update{}), OLAF_NOT_ALLOWED_SOURCE);
    append(ipv4().source(4).vlan(3).options(8).carrying(Update{.cluster = 1}));
    append(ipv4().source(5).carrying(Update{.cluster = 2}));
    refuses(ipv4().source(6).carrying(Update{}), OLAF_NOT_ALLOWED_SOURCE);
    allow(128, {0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9});
    append(ipv6().source(9).vlan(3).hop_by_hop().carrying(Update{.cluster = 3}));
    refuses(ipv6().source(8).carrying(Update{}), OLAF_NOT_ALLOWED_SOURCE);
}

} // namespace
} // namespace olaf::test::bypass_test
