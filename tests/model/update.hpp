// SPDX-License-Identifier: BSD-2-Clause
// What the model knows of an update: the fields of protocol.md in host order, its lanes, and
// the L2-L4 bytes it came with.
#pragma once

#include <cstdint>
#include <vector>

namespace olaf::model {

/// What must agree before two updates may be merged.
struct Shape {
    std::uint16_t lanes = 0; ///< checksum lane included
    unsigned format = 0;
    bool checksum = false;

    bool operator==(const Shape &) const = default;
};

struct Headers {
    std::vector<std::uint8_t> bytes; ///< from Ethernet's first byte to UDP's last
    std::size_t l3 = 0;
    std::size_t l4 = 0;
    int family = 4;

    bool operator==(const Headers &) const = default;
};

struct Update {
    std::uint32_t cluster = 0;
    std::uint32_t worker = 0;
    std::uint32_t sequence = 0;
    std::uint32_t count = 1;
    std::uint64_t generated_ns = 0;
    std::int64_t reward = 0;
    std::uint32_t model_version = 0;
    std::uint16_t segment = 0;
    std::uint16_t segments = 1;
    Shape shape;
    std::vector<std::uint64_t> lanes; ///< checksum lane included
    Headers headers;
    std::uint64_t first_arrived = 0; ///< when the first update of it came, by the caller's clock
    std::uint64_t arrived = 0;       ///< when the newest did
    bool damaged = false;            ///< the UDP checksum of its frame is wrong
};

/// The frame in which an update departs, as protocol.md and design.md ask. Over IPv4 a card, and a queue with
/// --no-verify, write no UDP checksum: `summed` is false.
std::vector<std::uint8_t> departing_frame(const Update &update, bool summed = true);

} // namespace olaf::model
