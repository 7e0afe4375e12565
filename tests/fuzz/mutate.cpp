// SPDX-License-Identifier: BSD-2-Clause
#include "mutate.hpp"

#include <algorithm>

namespace olaf::test {

namespace {

constexpr std::size_t shortest = 14;
/// Values that sit at the edges of what a length field may mean.
constexpr std::uint64_t edges[] = {0,  1,  7,   8,   19,     20,     27,     28,     40,    48,
                                   55, 56, 127, 128, 0x7fff, 0x8000, 0xfff8, 0xfffe, 0xffff};

} // namespace

Bytes Mutator::frame() {
    if (random_.one_in(50)) { // garbage from the first byte
        Bytes bytes(shortest + random_.below(400));
        std::ranges::generate(bytes, [&] { return static_cast<std::uint8_t>(random_.below(256)); });
        return bytes;
    }
    Frame frame = intact();
    if (random_.one_in(5))
        return frame.bytes;
    for (auto wounds = 1 + random_.below(3); wounds > 0; wounds--)
        wound(frame);
    if (frame.size() < shortest)
        frame.bytes.resize(shortest);
    return frame.bytes;
}

Frame Mutator::intact_ack() {
    Ack ack{.cluster = static_cast<std::uint32_t>(random_.below(8)),
            .worker = random_.one_in(2) ? OLAF_EVERY_WORKER
                                        : static_cast<std::uint32_t>(random_.below(5)),
            .sequence = static_cast<std::uint32_t>(random_.below(1u << 31))};
    ack.lanes.resize(random_.below(40), 0x5555aaaa);
    if (random_.one_in(2)) {
        ack.state_flags = OLAF_FLAG_STAMPED;
        ack.active_clusters = static_cast<std::uint16_t>(random_.below(12));
        ack.queue_capacity = static_cast<std::uint32_t>(random_.below(12));
        ack.queue_length = static_cast<std::uint32_t>(random_.below(12));
    }
    return random_.path().source(1).target(1).source_port(OLAF_DEFAULT_PORT).carrying(ack);
}

Frame Mutator::intact() {
    if (way_ == Way::acks && !random_.one_in(10))
        return intact_ack();
    switch (random_.below(12)) {
    case 0:
        return random_.path().carrying(Ack{.cluster = 1, .lanes = {1, 2}});
    case 1:
        return random_.path().carrying(control_message());
    default:
        return random_.frame(random_.update());
    }
}

void Mutator::wound(Frame &frame) {
    switch (random_.below(7)) {
    case 0:
        return lie_about_length(frame);
    case 1:
        return break_message(frame);
    case 2:
        return break_ip(frame);
    case 3:
        return nest(frame);
    case 4:
        return flip_bits(frame);
    case 5: // cut, anywhere or within the headers
        frame.bytes.resize(random_.one_in(2) ? random_.below(frame.size() + 1)
                                             : std::min(frame.size(), random_.below(160)));
        return;
    default: // bytes behind the end
        frame.bytes.resize(frame.size() + random_.below(64), 0xa5);
    }
}

void Mutator::lie_about_length(Frame &frame) {
    std::size_t where[] = {frame.l3 + (frame.family == 4 ? 2u : 4u), frame.l4 + 4,
                           frame.message + 6};
    std::size_t at = where[random_.below(3)];
    if (at + 2 > frame.size())
        return;
    auto value = get_be(frame.bytes, at, 2);
    switch (random_.below(3)) {
    case 0:
        value = edges[random_.below(std::size(edges))];
        break;
    case 1:
        value += random_.below(17) - 8;
        break;
    default:
        value = random_.below(0x10000);
    }
    set_be(frame.bytes, at, value & 0xffff, 2);
    repair_checksum(frame);
}

void Mutator::break_message(Frame &frame) {
    auto at = frame.message + random_.below(48);
    if (at < frame.size())
        frame.bytes[at] = static_cast<std::uint8_t>(
            random_.one_in(3) ? edges[random_.below(std::size(edges))] : random_.below(256));
}

void Mutator::break_ip(Frame &frame) {
    static constexpr std::uint8_t protocols[] = {0, 6, 17, 43, 44, 50, 51, 58, 59, 60, 135, 255};
    auto at = frame.l3 + random_.below(40);
    if (random_.one_in(2)) // version and header length, protocol, or an extension's next header
        at = random_.one_in(2) ? frame.l3 : frame.l3 + (frame.family == 4 ? 9 : 6);
    if (frame.family == 6 && random_.one_in(3))
        at = frame.l3 + 40 + random_.below(2);
    if (at >= frame.size())
        return;
    frame.bytes[at] = random_.one_in(2) ? protocols[random_.below(std::size(protocols))]
                                        : static_cast<std::uint8_t>(random_.below(256));
    repair_checksum(frame);
}

/// One to four VLAN tags more, or extension headers without end.
void Mutator::nest(Frame &frame) {
    if (frame.size() < frame.l3 + 40)
        return;
    if (frame.family == 6 && random_.one_in(2)) {
        auto next = frame.bytes[frame.l3 + 6];
        for (auto headers = 1 + random_.below(6); headers > 0; headers--) {
            Bytes extension(8 * (1 + random_.below(3)));
            extension[0] = next;
            extension[1] = static_cast<std::uint8_t>(
                random_.one_in(4) ? random_.below(256) : extension.size() / 8 - 1);
            next = random_.one_in(2) ? 0 : 60;
            auto at = frame.bytes.begin() + static_cast<long>(frame.l3 + 40);
            frame.bytes.insert(at, extension.begin(), extension.end());
            frame.l4 += extension.size();
            frame.message += extension.size();
            auto length = get_be(frame.bytes, frame.l3 + 4, 2) + extension.size();
            set_be(frame.bytes, frame.l3 + 4, length & 0xffff, 2);
        }
        frame.bytes[frame.l3 + 6] = next;
        return;
    }
    for (auto tags = 1 + random_.below(4); tags > 0; tags--) {
        Bytes tag = {static_cast<std::uint8_t>(random_.one_in(2) ? 0x81 : 0x88), 0, 0, 1};
        tag[1] = tag[0] == 0x88 ? 0xa8 : 0;
        frame.bytes.insert(frame.bytes.begin() + 12, tag.begin(), tag.end());
        frame.l3 += 4;
        frame.l4 += 4;
        frame.message += 4;
    }
}

void Mutator::flip_bits(Frame &frame) {
    for (auto flips = 1 + random_.below(8); flips > 0 && !frame.bytes.empty(); flips--) {
        auto range = random_.one_in(2) ? frame.size() : std::min<std::size_t>(frame.size(), 110);
        frame.bytes[random_.below(range)] ^= static_cast<std::uint8_t>(1u << random_.below(8));
    }
}

/// Usually, so that a lie isn't caught by the checksum alone.
void Mutator::repair_checksum(Frame &frame) {
    if (frame.family != 4 || frame.size() < frame.l3 + 60 || random_.one_in(8))
        return;
    set_be(frame.bytes, frame.l3 + 10, ipv4_checksum(frame.bytes, frame.l3), 2);
}

} // namespace olaf::test
