// SPDX-License-Identifier: BSD-2-Clause
#include "oracle.hpp"

#include <algorithm>

#include "olaf/queue.h"

namespace olaf::test {

namespace {

constexpr std::size_t longest_frame = 255 * 64; ///< longer ones pass uncut

/// Ethernet, at most two tags, IPv4 without fragments, UDP. Returns whether so.
bool read_layers(const Bytes &frame, Judged &out, std::size_t &room) {
    if (frame.size() > longest_frame)
        return false;
    std::size_t at = 12;
    for (int tags = 0; tags < 2; tags++) {
        if (at + 2 > frame.size())
            return false;
        const auto type = get_be(frame, at, 2);
        if (type != 0x8100 && type != 0x88a8)
            break;
        at += 4;
    }
    if (at + 2 + 20 > frame.size() || get_be(frame, at, 2) != 0x0800)
        return false;
    out.l3 = at + 2;
    const std::size_t header = (frame[out.l3] & 15u) * 4u, total = get_be(frame, out.l3 + 2, 2);
    if (frame[out.l3] >> 4 != 4 || header < 20 || total < header || frame[out.l3 + 9] != 17 ||
        (get_be(frame, out.l3 + 6, 2) & 0x3fff) != 0)
        return false;
    out.l4 = out.l3 + header;
    room = total - header;
    return true;
}

bool ip_checksum_wrong(const Bytes &frame, const Judged &at) {
    const std::span bytes(frame);
    return checksum_finish(checksum_add(bytes.subspan(at.l3, at.l4 - at.l3))) != 0;
}

bool udp_checksum_wrong(const Bytes &frame, const Judged &at) {
    const auto udp_bytes = get_be(frame, at.l4 + 4, 2);
    if (get_be(frame, at.l4 + 6, 2) == 0)
        return false;
    const std::span bytes(frame);
    const auto sum = checksum_add(bytes.subspan(at.l3 + 12, 8)) + 17 + udp_bytes;
    return checksum_finish(checksum_add(bytes.subspan(at.l4, udp_bytes), sum)) != 0;
}

/// Of a message whose type is UPDATE: what is wrong with it, or -1.
int fault_of_update(const Bytes &frame, const Judged &at, std::size_t room, const Asked &asked) {
    const auto message = at.l4 + 8, udp_bytes = get_be(frame, at.l4 + 4, 2);
    const auto flags = get_be(frame, message + 4, 2), lanes = get_be(frame, message + 6, 2);
    const bool checksum = flags & OLAF_FLAG_CHECKSUM;
    if (udp_bytes != 56 + 8 * lanes)
        return OLAF_MALFORMED_LENGTH;
    if (room < udp_bytes || frame.size() < at.l4 + udp_bytes)
        return OLAF_MALFORMED_TRUNCATED;
    if (room != udp_bytes)
        return OLAF_MALFORMED_LENGTH;
    if (ip_checksum_wrong(frame, at))
        return OLAF_MALFORMED_IP_CHECKSUM;
    if (lanes < (checksum ? 2u : 1u))
        return OLAF_MALFORMED_LANES;
    if ((flags >> 8 & 15) > OLAF_FORMAT_I64X1)
        return OLAF_MALFORMED_FORMAT;
    if (get_be(frame, message + 20, 4) == 0)
        return OLAF_MALFORMED_COUNT;
    if (get_be(frame, message + 44, 2) >= get_be(frame, message + 46, 2))
        return OLAF_MALFORMED_SEGMENT;
    // Of more lanes than there is room for the sum isn't asked: they are refused.
    if ((!checksum || asked.verify) && lanes <= asked.max_lanes && udp_checksum_wrong(frame, at))
        return OLAF_MALFORMED_UDP_CHECKSUM;
    return -1;
}

} // namespace

Judged judge(const Bytes &frame, const Asked &asked) {
    Judged out;
    std::size_t room = 0;
    if (!read_layers(frame, out, room) || out.l4 + 10 > frame.size() ||
        get_be(frame, out.l4 + 2, 2) != asked.port ||
        get_be(frame, out.l4 + 8, 2) != OLAF_MAGIC)
        return {Kind::bypass, OLAF_BYPASS_OTHER, out.l3, out.l4};
    out.kind = Kind::malformed;
    if (get_be(frame, out.l4 + 4, 2) < 56) {
        out.reason = OLAF_MALFORMED_LENGTH;
        return out;
    }
    if (out.l4 + 56 > frame.size()) {
        out.reason = OLAF_MALFORMED_TRUNCATED;
        return out;
    }
    const auto version = frame[out.l4 + 10], type = frame[out.l4 + 11];
    const bool known = version == OLAF_VERSION || version == OLAF_ROUNDS_VERSION;
    if (known && (type < OLAF_UPDATE || type > OLAF_RESULT)) {
        out.reason = OLAF_MALFORMED_TYPE;
        return out;
    }
    if (!known || (version == OLAF_VERSION ? type > OLAF_CONTROL : type < OLAF_CONTROL)) {
        out.reason = OLAF_MALFORMED_VERSION;
        return out;
    }
    if (type == OLAF_CONTRIBUTION || type == OLAF_RESULT)
        return {Kind::bypass, OLAF_BYPASS_JOB, out.l3, out.l4};
    if (type == OLAF_ACK || type == OLAF_CONTROL)
        return {Kind::bypass, OLAF_BYPASS_OTHER, out.l3, out.l4};
    if (const int fault = fault_of_update(frame, out, room, asked); fault >= 0) {
        out.reason = static_cast<unsigned>(fault);
        return out;
    }
    const auto to = static_cast<std::uint32_t>(get_be(frame, out.l3 + 16, 4));
    if (asked.own_only && std::ranges::find(asked.own, to) == asked.own.end())
        return {Kind::bypass, OLAF_BYPASS_FOREIGN, out.l3, out.l4};
    return {Kind::update, 0, out.l3, out.l4};
}

model::Update read_update(const Bytes &frame, const Judged &at) {
    const auto message = at.l4 + 8;
    const auto word = [&](std::size_t offset) {
        return static_cast<std::uint32_t>(get_be(frame, message + offset, 4));
    };
    const auto half = [&](std::size_t offset) {
        return static_cast<std::uint16_t>(get_be(frame, message + offset, 2));
    };
    model::Update out{.cluster = word(8),
                      .worker = word(12),
                      .sequence = word(16),
                      .count = word(20),
                      .generated_ns = get_be(frame, message + 24, 8),
                      .reward = static_cast<std::int64_t>(get_be(frame, message + 32, 8)),
                      .model_version = word(40),
                      .segment = half(44),
                      .segments = half(46),
                      .shape = {half(6), half(4) >> 8 & 15u, (half(4) & OLAF_FLAG_CHECKSUM) != 0},
                      .lanes = {},
                      .headers = {{frame.begin(), frame.begin() + static_cast<long>(message)},
                                  at.l3,
                                  at.l4,
                                  4}};
    for (std::size_t i = 0; i < out.shape.lanes; i++)
        out.lanes.push_back(get_le64(frame, message + 48 + 8 * i));
    return out;
}

int refusal(const model::Update &update, const Asked &asked, std::uint32_t max_count) {
    const auto &headers = update.headers;
    const auto bytes = headers.l4 - headers.l3 + 56 + 8ul * update.shape.lanes +
                       (headers.l3 == 22 ? 4 : 0); // a second tag counts
    if (update.cluster >= asked.max_clusters)
        return OLAF_NOT_ALLOWED_CLUSTER;
    if (update.count > max_count)
        return OLAF_NOT_ALLOWED_COUNT;
    if (update.segments > asked.max_segments)
        return OLAF_NOT_ALLOWED_SEGMENT;
    if (update.shape.lanes > asked.max_lanes || (asked.mtu != 0 && bytes > asked.mtu))
        return OLAF_NOT_ALLOWED_SIZE;
    return -1;
}

bool is_ack(const Bytes &frame, std::uint16_t port, Judged &where) {
    std::size_t room = 0;
    if (!read_layers(frame, where, room) || where.l4 + 56 > frame.size())
        return false;
    const auto message = where.l4 + 8, udp_bytes = get_be(frame, where.l4 + 4, 2);
    const auto lanes = get_be(frame, message + 6, 2);
    return get_be(frame, where.l4, 2) == port && get_be(frame, message, 2) == OLAF_MAGIC &&
           frame[message + 2] == OLAF_VERSION && frame[message + 3] == OLAF_ACK &&
           lanes <= OLAF_MAX_LANES && udp_bytes == 56 + 8 * lanes && udp_bytes == room &&
           where.l4 + udp_bytes <= frame.size();
}

} // namespace olaf::test
