// SPDX-License-Identifier: BSD-2-Clause
// With --local and --upstream the queue takes what is addressed to this host, and nothing else.
#include "queue_test.hpp"
#include "testbed.hpp"
#include "upstream.hpp"

namespace olaf::test::ours_test {
namespace {

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

} // namespace
} // namespace olaf::test::ours_test
