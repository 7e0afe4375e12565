// SPDX-License-Identifier: BSD-2-Clause
// Traffic that is none of our business goes up the stack as it came.
#include "queue_test.hpp"

namespace olaf::test::bypass_test {
namespace {

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

} // namespace
} // namespace olaf::test::bypass_test
