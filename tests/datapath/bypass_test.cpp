// SPDX-License-Identifier: BSD-2-Clause
// What isn't the queue's goes on as it came; what isn't well formed is dropped.
#include <bpf/bpf.h>

#include <functional>

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

TEST_F(Bypass, OtherProtocols) {
    for (int protocol : {1, 6, 47, 132}) {
        bypasses(with_ip(update4, 9, protocol, 1));
        bypasses(with_ip(update6, 6, protocol, 1));
    }
    for (int ethertype : {0x0806, 0x88cc, 0x8847, 0x0000, 0x05dc})
        bypasses(with(update4, 12, ethertype, 2));
}

TEST_F(Bypass, Fragments) {
    for (int fragment : {0x2000, 0x0001, 0x1fff, 0x3fff})
        bypasses(with_ip(update4, 6, fragment, 2));
    Frame fragment6 = ipv6().hop_by_hop().carrying(Update{});
    bypasses(with_ip(fragment6, 6, 44, 1));
}

TEST_F(Bypass, HeadersThatAreNotOursToTakeApart) {
    bypasses(ipv6().routing().carrying(Update{}));
    bypasses(ipv4().vlan(1).vlan(2).vlan(3).carrying(Update{}));
    bypasses(ipv6().hop_by_hop(128).carrying(Update{}));
    bypasses(ipv6().hop_by_hop(40).destination_options(40).carrying(Update{}));
    bypasses(ipv6()
                 .hop_by_hop()
                 .destination_options()
                 .destination_options()
                 .destination_options()
                 .destination_options()
                 .carrying(Update{}));
}

TEST_F(Bypass, DamagedIpHeaders) {
    bypasses(with(update4, update4.l3, 0x55, 1));
    bypasses(with(update4, update4.l3, 0x44, 1)); // header length below 20
    bypasses(with(update4, update4.l3 + 2, 19, 2));
    bypasses(with(update6, update6.l3, 0x40, 1));
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

TEST_F(Bypass, JumboFramesOfOthers) {
    Bytes tcp = with_ip(ipv4().carrying(Bytes(8000, 7)), 9, 6, 1).bytes;
    bypasses(tcp);
}

// ---- With --local and --upstream the queue takes what is addressed to this host, and nothing else.

/// To a host of another network, which nobody said is this one.
Frame to_another(const Path &path) {
    Frame frame = path.carrying(Update{.cluster = 1});
    frame.bytes[frame.l3 + (frame.family == 4 ? 16 : 24)] ^= 1;
    if (frame.family == 4) {
        set_be(frame.bytes, frame.l3 + 10, 0, 2);
        set_be(frame.bytes, frame.l3 + 10, ipv4_checksum(frame.bytes, frame.l3), 2);
    }
    return frame;
}

olaf::DatapathConfig delivering(const Testbed &net, olaf_deliver deliver) {
    return deliver == OLAF_DELIVER_LOCAL ? small_queue() : upstream_of(small_queue(), net.near, 4);
}

class Ours : private InTestbed, public QueueTest, public testing::WithParamInterface<olaf_deliver> {
  protected:
    Ours() : QueueTest(delivering(net, GetParam())) {}
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

    Frame good4 = ipv4().carrying(Update{.cluster = 1});
    Frame good6 = ipv6().vlan(7).hop_by_hop().carrying(Update{.cluster = 1});

    /// The same defect in a header field of the message, whatever the frame around it.
    void rejects_field(std::size_t offset, std::uint64_t value, int width, olaf_malformed reason) {
        for (const Frame &good : {good4, good6})
            rejects(with(good, good.message + offset, value, width), reason);
    }
};

TEST_F(Malformed, Version) {
    for (int version : {0, 2, 255})
        rejects_field(2, version, 1, OLAF_MALFORMED_VERSION);
}

TEST_F(Malformed, Type) {
    for (int type : {0, 6, 255})
        rejects_field(3, type, 1, OLAF_MALFORMED_TYPE);
}

TEST_F(Malformed, LengthDisagreesWithLanes) {
    for (int lanes : {0, 1, 4, 6, 0x2005, 0xffff})
        rejects_field(6, lanes, 2, OLAF_MALFORMED_LENGTH);
    for (const Frame &good : {good4, good6})
        for (int udp_bytes : {0, 7, 8, 55, 56, 95, 97, 0xffff})
            rejects(with(good, good.l4 + 4, udp_bytes, 2), OLAF_MALFORMED_LENGTH);
}

TEST_F(Malformed, FrameEndsBeforeTheMessage) {
    for (const Frame &good : {good4, good6})
        for (std::size_t cut = 1; good.size() - cut >= good.message + 2; cut++)
            rejects(truncated(good, good.size() - cut), OLAF_MALFORMED_TRUNCATED);
}

TEST_F(Malformed, IpPacketEndsBeforeTheMessage) {
    rejects(with_ip(good4, 2, good4.size() - good4.l3 - 1, 2), OLAF_MALFORMED_TRUNCATED);
    rejects(with_ip(good4, 2, 28, 2), OLAF_MALFORMED_TRUNCATED);
    rejects(with_ip(good6, 4, good6.size() - good6.l3 - 40 - 1, 2), OLAF_MALFORMED_TRUNCATED);
}

TEST_F(Malformed, IpPacketGoesOnBehindTheMessage) {
    Frame longer4 = with_ip(good4, 2, good4.size() - good4.l3 + 2, 2);
    Frame longer6 = with_ip(good6, 4, good6.size() - good6.l3 - 40 + 2, 2);
    for (Frame frame : {longer4, longer6}) {
        rejects(frame, OLAF_MALFORMED_LENGTH); // the frame doesn't have those bytes
        frame.bytes.resize(frame.size() + 2);
        rejects(frame, OLAF_MALFORMED_LENGTH);
    }
}

TEST_F(Malformed, NoLanesOrOnlyAChecksum) {
    rejects(ipv4().carrying(Update{.checksum = false, .lanes = {}}), OLAF_MALFORMED_LANES);
    rejects(ipv4().carrying(Update{.lanes = {}}), OLAF_MALFORMED_LANES);
}

TEST_F(Malformed, ElementFormatUnknownOrNotLinear) {
    for (int format = OLAF_FORMAT_F32X2; format < 16; format++)
        rejects_field(4, format << OLAF_FLAG_FORMAT_SHIFT, 2, OLAF_MALFORMED_FORMAT);
}

TEST_F(Malformed, CountOfZero) { rejects_field(20, 0, 4, OLAF_MALFORMED_COUNT); }

TEST_F(Malformed, SegmentOutOfItsRange) {
    rejects_field(44, 0x0000'0000, 4, OLAF_MALFORMED_SEGMENT); // no segments
    rejects_field(44, 0x0001'0001, 4, OLAF_MALFORMED_SEGMENT);
    rejects_field(44, 0xffff'0002, 4, OLAF_MALFORMED_SEGMENT);
}

TEST_F(Malformed, Ipv4HeaderChecksum) {
    for (int bit = 0; bit < 16; bit++) {
        auto right = get_be(good4.bytes, good4.l3 + 10, 2);
        rejects(with(good4, good4.l3 + 10, right ^ 1u << bit, 2), OLAF_MALFORMED_IP_CHECKSUM);
    }
    Frame options = ipv4().options(40).carrying(Update{});
    rejects(with(options, options.l3 + 59, 7, 1), OLAF_MALFORMED_IP_CHECKSUM);
}

TEST_F(Malformed, NeverDisturbsWhatWaits) {
    append(good4);
    queue.link_free();
    rejects_field(20, 0, 4, OLAF_MALFORMED_COUNT);
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

olaf::DatapathConfig with_allow_list() {
    auto config = small_queue();
    config.allow_list = true;
    return config;
}

class RefusedSource : public Refused {
  protected:
    RefusedSource() : Refused(with_allow_list()) {}

    void allow(std::uint32_t bits, const Bytes &address) {
        olaf_prefix prefix{.prefix_bits = bits, .address = {}};
        std::copy(address.begin(), address.end(), prefix.address);
        std::uint32_t yes = 1;
        ASSERT_EQ(bpf_map_update_elem(queue.queue().map_fd("olaf_allow"), &prefix, &yes, BPF_ANY),
                  0);
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
