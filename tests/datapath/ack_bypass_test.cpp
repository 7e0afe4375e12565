// SPDX-License-Identifier: BSD-2-Clause
// What leaves by the queue's device and is no ACK of ours stays as it is, byte for byte.
#include "ack_test.hpp"

namespace olaf::test::ack_bypass_test {
namespace {

class AckBypass : public AckTest {
  protected:
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

TEST_F(AckBypass, FragmentsAndOtherProtocols) {
    for (int fragment : {0x2000, 0x0001, 0x1fff, 0x3fff})
        passes(with_ip(ack4, 6, fragment, 2));
    for (int protocol : {1, 6, 47, 132}) {
        passes(with_ip(ack4, 9, protocol, 1));
        passes(with_ip(ack6, 6, protocol, 1));
    }
    for (int ethertype : {0x0806, 0x88cc, 0x8847, 0x0000})
        passes(with(ack4, 12, ethertype, 2));
    passes(with_ip(answer(ipv6()).hop_by_hop().carrying(Ack{}), 6, 44, 1));
}

TEST_F(AckBypass, HeadersThatAreNotOursToTakeApart) {
    passes(answer(ipv6()).routing().carrying(Ack{}));
    passes(answer(ipv4()).vlan(1).vlan(2).vlan(3).carrying(Ack{}));
    passes(answer(ipv6()).hop_by_hop(128).carrying(Ack{}));
    passes(with(ack4, ack4.l3, 0x55, 1));
    passes(with(ack4, ack4.l3, 0x44, 1));
    passes(with(ack6, ack6.l3, 0x40, 1));
}

} // namespace
} // namespace olaf::test::ack_bypass_test
