// SPDX-License-Identifier: BSD-2-Clause
// Frames that are nearly an update or an ACK. What is wrong with a frame decides what becomes of
// it.
#pragma once

#include <functional>
#include <initializer_list>
#include <vector>

#include "olaf/queue.h"
#include "packet.hpp"

namespace olaf::test {

/// Frames that no queue takes for its own: other protocols, fragments, headers that it doesn't take
/// apart, and damaged ones. `carry` puts a right message into a frame on that path.
inline std::vector<Frame> foreign_frames(const std::function<Frame(const Path &)> &carry) {
    const Frame four = carry(ipv4()), six = carry(ipv6());
    std::vector<Frame> frames{
        carry(ipv6().routing()),
        carry(ipv4().vlan(1).vlan(2).vlan(3)),
        carry(ipv6().hop_by_hop(128)),
        carry(ipv6().hop_by_hop(40).destination_options(40)),
        carry(ipv6()
                  .hop_by_hop()
                  .destination_options()
                  .destination_options()
                  .destination_options()
                  .destination_options()),
        with_ip(carry(ipv6().hop_by_hop()), 6, 44, 1), // a fragment
        with(four, four.l3, 0x55, 1),
        with(four, four.l3, 0x44, 1), // header length below 20
        with(four, four.l3 + 2, 19, 2),
        with(six, six.l3, 0x40, 1),
    };
    for (const unsigned fragment : {0x2000, 0x0001, 0x1fff, 0x3fff})
        frames.push_back(with_ip(four, 6, fragment, 2));
    for (const unsigned protocol : {1, 6, 47, 132})
        for (const auto &frame : {with_ip(four, 9, protocol, 1), with_ip(six, 6, protocol, 1)})
            frames.push_back(frame);
    for (const unsigned ethertype : {0x0806, 0x88cc, 0x8847, 0x0000, 0x05dc})
        frames.push_back(with(four, 12, ethertype, 2));
    return frames;
}

struct Defect {
    olaf_malformed reason;
    Frame frame;
};

/// Updates on that path, each with one defect: every field at the edges of what it may be, every
/// length.
inline std::vector<Defect> defects_on(const Path &path) {
    const Frame good = path.carrying(Update{.cluster = 1});
    const bool four = good.family == 4;
    std::vector<Defect> all;
    const auto field = [&](olaf_malformed reason, std::size_t at, int width,
                           std::initializer_list<std::uint64_t> values) {
        for (const auto value : values)
            all.push_back({reason, with(good, at, value, width)});
    };
    field(OLAF_MALFORMED_VERSION, good.message + 2, 1, {0, 2, 255});
    field(OLAF_MALFORMED_TYPE, good.message + 3, 1, {0, 6, 255});
    for (std::uint64_t format = OLAF_FORMAT_F32X2; format < 16; format++)
        field(OLAF_MALFORMED_FORMAT, good.message + 4, 2,
              {format << OLAF_FLAG_FORMAT_SHIFT, 1 | format << OLAF_FLAG_FORMAT_SHIFT});
    field(OLAF_MALFORMED_LENGTH, good.message + 6, 2, {0, 1, 4, 6, 0x2005, 0xffff}); // lanes
    field(OLAF_MALFORMED_COUNT, good.message + 20, 4, {0});
    field(OLAF_MALFORMED_SEGMENT, good.message + 44, 4,
          {0 /* segments */, 0x0001'0001, 0xffff'0002});
    field(OLAF_MALFORMED_LENGTH, good.l4 + 4, 2, {0, 7, 8, 55, 56, 95, 97, 0xffff}); // of UDP
    for (const std::size_t lanes : {0, 1}) // none, or a checksum alone
        all.push_back(
            {OLAF_MALFORMED_LANES, path.carrying(Update{.checksum = lanes == 1, .lanes = {}})});
    for (auto bytes = good.message + 2; bytes < good.size(); bytes++)
        all.push_back({OLAF_MALFORMED_TRUNCATED, truncated(good, bytes)});
    // The IP packet ends before the message does, or goes on behind it, whether the frame has those
    // bytes or not.
    const std::size_t length_at = four ? 2 : 4, length = good.size() - good.l3 - (four ? 0 : 40);
    all.push_back({OLAF_MALFORMED_TRUNCATED, with_ip(good, length_at, length - 1, 2)});
    Frame longer = with_ip(good, length_at, length + 2, 2);
    all.push_back({OLAF_MALFORMED_LENGTH, longer});
    longer.bytes.resize(longer.size() + 2);
    all.push_back({OLAF_MALFORMED_LENGTH, longer});
    if (four) {
        all.push_back(
            {OLAF_MALFORMED_TRUNCATED, with_ip(good, length_at, good.l4 + 8 - good.l3, 2)});
        const auto checksum = get_be(good.bytes, good.l3 + 10, 2);
        for (unsigned bit = 0; bit < 16; bit++)
            field(OLAF_MALFORMED_IP_CHECKSUM, good.l3 + 10, 2, {checksum ^ 1u << bit});
        for (auto at = good.l3 + 20; at < good.l4; at++) // each byte of the options counts
            field(OLAF_MALFORMED_IP_CHECKSUM, at, 1, {good.bytes[at] ^ 0x40u});
    }
    return all;
}

} // namespace olaf::test
