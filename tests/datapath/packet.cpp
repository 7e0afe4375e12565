// SPDX-License-Identifier: BSD-2-Clause
#include "packet.hpp"

#include <bit>

#include "fields.hpp"

namespace olaf::test {

std::uint64_t checksum_lane(std::span<const std::uint64_t> lanes) {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < lanes.size(); i++)
        sum += (2 * i + 1) * lanes[i];
    return sum;
}

namespace {

void put_prefix(Bytes &out, olaf_message_type type, std::uint16_t flags, std::size_t lanes) {
    put_be(out, OLAF_MAGIC, 2);
    put_be(out, OLAF_VERSION, 1);
    put_be(out, type, 1);
    put_be(out, flags, 2);
    put_be(out, lanes, 2);
}

template <class Message>
Bytes encoded(olaf_message_type type, std::uint16_t flags, std::size_t lanes, const Message &message) {
    Bytes out;
    out.reserve(48 + 8 * lanes);
    put_prefix(out, type, flags, lanes);
    const auto put = [&](auto field) {
        put_be(out, static_cast<std::uint64_t>(field), sizeof field);
    };
    std::apply([&](const auto &...field) { (put(field), ...); }, fields_of(message));
    for (const auto lane : message.lanes)
        put_le64(out, lane);
    return out;
}

} // namespace

Bytes message(const Update &update) {
    auto out = encoded(OLAF_UPDATE, update.flags(), update.wire_lanes(), update);
    if (update.checksum)
        put_le64(out, checksum_lane(update.lanes));
    return out;
}

Bytes message(const Ack &ack) {
    const auto flags = OLAF_FORMAT_F32X2 << OLAF_FLAG_FORMAT_SHIFT | ack.state_flags;
    return encoded(OLAF_ACK, static_cast<std::uint16_t>(flags), ack.lanes.size(), ack);
}

Bytes message(const JobMessage &job) {
    JobMessage wire = job;
    wire.rank = (job.vector & 0xffff0000) | (job.rank & 0xffff);
    if (job.has_content())
        wire.count = job.vector << 16 | (job.count & 0xffff);
    auto out = encoded(job.type, job.flags, job.lanes.size(), wire);
    out[2] = OLAF_ROUNDS_VERSION;
    seal(out);
    return out;
}

void seal(Bytes &message, std::size_t at) {
    const auto header = std::span(message).subspan(at, 48);
    std::uint64_t sum = 0;
    header[47] = 0;
    for (std::size_t word = 0; word < 48; word += 8)
        sum ^= std::rotl(get_le64(message, at + word), word % 16 == 0 ? 3 : 0);
    for (int byte = 0; byte < 8; byte++)
        header[47] = static_cast<std::uint8_t>(header[47] ^ sum >> 8 * byte);
}

Bytes control_message() {
    Bytes out;
    put_prefix(out, OLAF_CONTROL, 0, 0);
    out.resize(48);
    return out;
}

void Path::put_ethernet(Bytes &out) const {
    out.insert(out.end(), target_mac_.begin(), target_mac_.end());
    out.insert(out.end(), source_mac_.begin(), source_mac_.end());
    for (const auto &tag : tags_) {
        put_be(out, tag.ethertype, 2);
        put_be(out, tag.id, 2);
    }
    put_be(out, family_ == 4 ? 0x0800 : 0x86dd, 2);
}

void Path::put_ipv4(Bytes &out, std::size_t udp_bytes) const {
    std::size_t l3 = out.size();
    std::size_t header = 20u + options_;
    put_be(out, 0x40 | header / 4, 1);
    put_be(out, tos_, 1);
    put_be(out, header + udp_bytes, 2);
    put_be(out, id_, 2);
    put_be(out, 0x4000, 2); // don't fragment
    put_be(out, ttl_, 1);
    put_be(out, 17, 1);
    put_be(out, 0, 2);
    put_be(out, (source_is_server() ? 0x0a000100u : 0x0a000000u) | source_host_, 4);
    put_be(out, (back_ ? 0x0a000000u : 0x0a000100u) | target_host_, 4);
    for (int i = 0; i < options_; i++)
        out.push_back(i == options_ - 1 ? 0 : 1);
    set_be(out, l3 + 10, ipv4_checksum(out, l3), 2);
}

void Path::put_ipv6(Bytes &out, std::size_t udp_bytes) const {
    std::size_t extra = 0;
    for (const auto &extension : extensions_)
        extra += extension.bytes;
    put_be(out, 0x60000000u | tos_ << 20 | id_, 4);
    put_be(out, extra + udp_bytes, 2);
    put_be(out, extensions_.empty() ? 17 : extensions_[0].protocol, 1);
    put_be(out, ttl_, 1);
    put_be(out, source_is_server() ? 0xfd00000000000001 : 0xfd00000000000000, 8);
    put_be(out, source_host_, 8);
    put_be(out, back_ ? 0xfd00000000000000 : 0xfd00000000000001, 8);
    put_be(out, target_host_, 8);
    for (std::size_t i = 0; i < extensions_.size(); i++) {
        const auto &extension = extensions_[i];
        put_be(out, i + 1 < extensions_.size() ? extensions_[i + 1].protocol : 17, 1);
        put_be(out, extension.bytes / 8 - 1, 1);
        if (extension.protocol == 43) { // type 253 (experiments), nothing left to visit
            put_be(out, 253u << 8, 2);
            out.resize(out.size() + extension.bytes - 4);
        } else { // one PadN option
            put_be(out, 1, 1);
            put_be(out, extension.bytes - 4, 1);
            out.resize(out.size() + extension.bytes - 4);
        }
    }
}

Frame Path::carrying(const Bytes &payload) const {
    Frame frame;
    frame.family = family_;
    frame.bytes.reserve(160 + payload.size());
    put_ethernet(frame.bytes);
    frame.l3 = frame.size();
    std::size_t udp_bytes = 8 + payload.size();
    family_ == 4 ? put_ipv4(frame.bytes, udp_bytes) : put_ipv6(frame.bytes, udp_bytes);
    frame.l4 = frame.size();
    put_be(frame.bytes, source_port_, 2);
    put_be(frame.bytes, target_port_, 2);
    put_be(frame.bytes, udp_bytes, 2);
    put_be(frame.bytes, 0, 2);
    frame.message = frame.size();
    frame.bytes.insert(frame.bytes.end(), payload.begin(), payload.end());
    if (udp_checksum_ || family_ == 6)
        set_be(frame.bytes, frame.l4 + 6, udp_checksum(frame.bytes, frame.l3, frame.l4), 2);
    return frame;
}

Frame truncated(Frame frame, std::size_t bytes) {
    frame.bytes.resize(bytes);
    return frame;
}

Frame with(Frame frame, std::size_t at, std::uint64_t value, int width) {
    set_be(frame.bytes, at, value, width);
    return frame;
}

Frame with_ip(Frame frame, std::size_t at_in_l3, std::uint64_t value, int width) {
    set_be(frame.bytes, frame.l3 + at_in_l3, value, width);
    if (frame.family == 4)
        set_be(frame.bytes, frame.l3 + 10, ipv4_checksum(frame.bytes, frame.l3), 2);
    return frame;
}

Frame summed(Frame frame) {
    if (frame.family == 4)
        set_be(frame.bytes, frame.l3 + 10, ipv4_checksum(frame.bytes, frame.l3), 2);
    set_be(frame.bytes, frame.l4 + 6, udp_checksum(frame.bytes, frame.l3, frame.l4), 2);
    return frame;
}

std::string hex(std::span<const std::uint8_t> bytes) {
    static constexpr char digits[] = "0123456789abcdef";
    std::string text;
    for (auto byte : bytes) {
        text += digits[byte >> 4];
        text += digits[byte & 15];
    }
    return text;
}

} // namespace olaf::test
