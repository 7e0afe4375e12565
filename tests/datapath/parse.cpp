// SPDX-License-Identifier: BSD-2-Clause
// Takes a frame apart as a strict receiver would, independently of the BPF parser.
#include "packet.hpp"

namespace olaf::test {

namespace {

struct Reject {
    const char *why;
};

void require(bool condition, const char *why) {
    if (!condition)
        throw Reject{why};
}

std::size_t parse_ethernet(const Bytes &bytes, int &family) {
    std::size_t at = 12;
    for (int tags = 0;; tags++) {
        require(bytes.size() >= at + 2, "no ethertype");
        auto ethertype = get_be(bytes, at, 2);
        if (ethertype != 0x8100 && ethertype != 0x88a8) {
            require(ethertype == 0x0800 || ethertype == 0x86dd, "not IP");
            family = ethertype == 0x0800 ? 4 : 6;
            return at + 2;
        }
        require(tags < 2, "more than two VLAN tags");
        at += 4;
    }
}

/// Where UDP begins; `end` becomes the end of the IP packet.
std::size_t parse_ipv4(const Bytes &bytes, std::size_t l3, std::size_t &end) {
    require(bytes.size() >= l3 + 20, "IPv4 header cut");
    std::size_t header = (bytes[l3] & 0xf) * 4u;
    require(bytes[l3] >> 4 == 4 && header >= 20, "IPv4 version or header length");
    require(bytes.size() >= l3 + header, "IPv4 options cut");
    end = l3 + get_be(bytes, l3 + 2, 2);
    require((get_be(bytes, l3 + 6, 2) & 0x3fff) == 0, "fragment");
    require(bytes[l3 + 9] == 17, "not UDP");
    require(get_be(bytes, l3 + 10, 2) == ipv4_checksum(bytes, l3), "IPv4 header checksum");
    return l3 + header;
}

std::size_t parse_ipv6(const Bytes &bytes, std::size_t l3, std::size_t &end) {
    require(bytes.size() >= l3 + 40 && bytes[l3] >> 4 == 6, "IPv6 header");
    end = l3 + 40 + get_be(bytes, l3 + 4, 2);
    std::size_t at = l3 + 40;
    for (int protocol = bytes[l3 + 6]; protocol != 17;) {
        require(protocol == 0 || protocol == 43 || protocol == 60, "not UDP");
        require(bytes.size() >= at + 8, "extension header cut");
        protocol = bytes[at];
        at += 8 + bytes[at + 1] * 8u;
    }
    return at;
}

/// Everything in front of the message; `port_at` is where UDP must name our port.
Frame parse_headers(const Bytes &bytes, std::size_t port_at) {
    Frame frame;
    std::size_t end = 0;
    frame.l3 = parse_ethernet(bytes, frame.family);
    frame.l4 = frame.family == 4 ? parse_ipv4(bytes, frame.l3, end)
                                 : parse_ipv6(bytes, frame.l3, end);
    frame.message = frame.l4 + 8;
    require(bytes.size() >= end && end >= frame.message + 48, "IP packet cut or too short");
    require(get_be(bytes, frame.l4 + port_at, 2) == OLAF_DEFAULT_PORT, "port");
    auto udp_bytes = get_be(bytes, frame.l4 + 4, 2);
    require(udp_bytes == 56 + 8 * get_be(bytes, frame.message + 6, 2), "UDP length");
    require(frame.l4 + udp_bytes == end, "UDP and IP disagree about the length");
    auto checksum = get_be(bytes, frame.l4 + 6, 2);
    require((frame.family == 4 && checksum == 0) ||
                checksum == udp_checksum(bytes, frame.l3, frame.l4),
            "UDP checksum");
    return frame;
}

Ack parse_ack_message(const Bytes &bytes, std::size_t at) {
    auto field = [&](std::size_t offset, int width) { return get_be(bytes, at + offset, width); };
    auto word = [&](std::size_t offset) { return static_cast<std::uint32_t>(field(offset, 4)); };
    require(field(0, 2) == OLAF_MAGIC && field(2, 1) == OLAF_VERSION, "magic or version");
    require(field(3, 1) == OLAF_ACK, "not an ACK");
    Ack ack;
    ack.state_flags = static_cast<std::uint16_t>(field(4, 2)) &
                      (OLAF_FLAG_STAMPED | OLAF_FLAG_CONGESTED);
    ack.cluster = word(8);
    ack.worker = word(12);
    ack.sequence = word(16);
    ack.active_clusters = static_cast<std::uint16_t>(field(20, 2));
    ack.generated_ns = field(24, 8);
    ack.queue_capacity = word(32);
    ack.queue_length = word(36);
    ack.model_version = word(40);
    for (std::size_t i = 0; i < field(6, 2); i++)
        ack.lanes.push_back(get_le64(bytes, at + 48 + 8 * i));
    return ack;
}

Update parse_message(const Bytes &bytes, std::size_t at) {
    auto field = [&](std::size_t offset, int width) { return get_be(bytes, at + offset, width); };
    require(field(0, 2) == OLAF_MAGIC && field(2, 1) == OLAF_VERSION, "magic or version");
    require(field(3, 1) == OLAF_UPDATE, "not an UPDATE");
    Update update;
    auto flags = static_cast<std::uint16_t>(field(4, 2));
    update.checksum = flags & OLAF_FLAG_CHECKSUM;
    update.format =
        static_cast<olaf_format>((flags & OLAF_FLAG_FORMAT_MASK) >> OLAF_FLAG_FORMAT_SHIFT);
    update.extra_flags =
        static_cast<std::uint16_t>(flags & ~(OLAF_FLAG_CHECKSUM | OLAF_FLAG_FORMAT_MASK));
    require(update.format <= OLAF_FORMAT_I64X1, "element format");
    update.cluster = static_cast<std::uint32_t>(field(8, 4));
    update.worker = static_cast<std::uint32_t>(field(12, 4));
    update.sequence = static_cast<std::uint32_t>(field(16, 4));
    update.count = static_cast<std::uint32_t>(field(20, 4));
    update.generated_ns = field(24, 8);
    update.reward = static_cast<std::int64_t>(field(32, 8));
    update.model_version = static_cast<std::uint32_t>(field(40, 4));
    update.segment = static_cast<std::uint16_t>(field(44, 2));
    update.segments = static_cast<std::uint16_t>(field(46, 2));
    require(update.count != 0, "count is zero");
    require(update.segment < update.segments, "segment");
    auto lanes = field(6, 2);
    require(lanes > (update.checksum ? 1u : 0u), "no data lanes");
    update.lanes.clear();
    for (std::size_t i = 0; i + (update.checksum ? 1 : 0) < lanes; i++)
        update.lanes.push_back(get_le64(bytes, at + 48 + 8 * i));
    if (update.checksum)
        require(get_le64(bytes, at + 40 + 8 * lanes) == checksum_lane(update.lanes),
                "checksum lane");
    return update;
}

JobMessage parse_job(const Bytes &bytes, std::size_t at) {
    auto field = [&](std::size_t offset, int width) { return get_be(bytes, at + offset, width); };
    auto word = [&](std::size_t offset) { return static_cast<std::uint32_t>(field(offset, 4)); };
    require(field(0, 2) == OLAF_MAGIC && field(2, 1) == OLAF_VERSION, "magic or version");
    JobMessage job;
    job.type = static_cast<olaf_message_type>(field(3, 1));
    require(job.type >= OLAF_CONTROL && job.type <= OLAF_RESULT, "not a job's message");
    job.flags = static_cast<std::uint16_t>(field(4, 2));
    job.job = word(8);
    job.rank = word(12);
    job.round = word(16);
    job.count = word(20);
    job.generated_ns = field(24, 8);
    job.chunk = word(32);
    job.chunks = word(36);
    job.generation = word(40);
    job.exponent = static_cast<std::int16_t>(field(44, 2));
    job.pool = static_cast<std::uint8_t>(field(46, 1));
    require(field(47, 1) == 0, "byte 47");
    for (std::size_t i = 0; i < field(6, 2); i++)
        job.lanes.push_back(get_le64(bytes, at + 48 + 8 * i));
    return job;
}

} // namespace

std::optional<Received> parse_update(Bytes bytes, std::string *why) {
    try {
        Received out;
        out.frame = parse_headers(bytes, 2);
        out.update = parse_message(bytes, out.frame.message);
        out.frame.bytes = std::move(bytes);
        return out;
    } catch (const Reject &reject) {
        if (why)
            *why = reject.why;
        return std::nullopt;
    }
}

std::optional<ReceivedAck> parse_ack(Bytes bytes, std::string *why) {
    try {
        ReceivedAck out;
        out.frame = parse_headers(bytes, 0);
        out.ack = parse_ack_message(bytes, out.frame.message);
        out.frame.bytes = std::move(bytes);
        return out;
    } catch (const Reject &reject) {
        if (why)
            *why = reject.why;
        return std::nullopt;
    }
}

std::optional<ReceivedJobMessage> parse_job_message(Bytes bytes, std::string *why) {
    try {
        ReceivedJobMessage out;
        out.frame = parse_headers(bytes, 0);
        out.port = static_cast<std::uint16_t>(get_be(bytes, out.frame.l4 + 2, 2));
        out.message = parse_job(bytes, out.frame.message);
        out.frame.bytes = std::move(bytes);
        return out;
    } catch (const Reject &reject) {
        if (why)
            *why = reject.why;
        return std::nullopt;
    }
}

} // namespace olaf::test
