// SPDX-License-Identifier: BSD-2-Clause
// Takes a frame apart as a strict receiver would, independently of the BPF parser.
#include "fields.hpp"
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

/// The fields and all the lanes of the message that begins there.
template <class Message> Message decoded(const Bytes &bytes, std::size_t at, unsigned version) {
    require(get_be(bytes, at, 2) == OLAF_MAGIC && get_be(bytes, at + 2, 1) == version,
            "magic or version");
    Message message;
    message.lanes.clear();
    for (std::size_t i = 0; i < get_be(bytes, at + 6, 2); i++)
        message.lanes.push_back(get_le64(bytes, at + 48 + 8 * i));
    at += 8;
    const auto get = [&]<class Field>(Field &field) {
        field = static_cast<Field>(get_be(bytes, at, sizeof field));
        at += sizeof field;
    };
    std::apply([&](auto &...field) { (get(field), ...); }, fields_of(message));
    return message;
}

Ack ack_at(const Bytes &bytes, std::size_t at) {
    auto ack = decoded<Ack>(bytes, at, OLAF_VERSION);
    require(get_be(bytes, at + 3, 1) == OLAF_ACK, "not an ACK");
    ack.state_flags = static_cast<std::uint16_t>(get_be(bytes, at + 4, 2)) &
                      (OLAF_FLAG_STAMPED | OLAF_FLAG_CONGESTED);
    return ack;
}

Update update_at(const Bytes &bytes, std::size_t at) {
    auto update = decoded<Update>(bytes, at, OLAF_VERSION);
    require(get_be(bytes, at + 3, 1) == OLAF_UPDATE, "not an UPDATE");
    const auto flags = static_cast<std::uint16_t>(get_be(bytes, at + 4, 2));
    update.checksum = flags & OLAF_FLAG_CHECKSUM;
    update.format =
        static_cast<olaf_format>((flags & OLAF_FLAG_FORMAT_MASK) >> OLAF_FLAG_FORMAT_SHIFT);
    update.extra_flags =
        static_cast<std::uint16_t>(flags & ~(OLAF_FLAG_CHECKSUM | OLAF_FLAG_FORMAT_MASK));
    require(update.format <= OLAF_FORMAT_I64X1, "element format");
    require(update.count != 0, "count is zero");
    require(update.segment < update.segments, "segment");
    require(update.lanes.size() > (update.checksum ? 1u : 0u), "no data lanes");
    if (update.checksum) {
        const auto checksum = update.lanes.back();
        update.lanes.pop_back();
        require(checksum == checksum_lane(update.lanes), "checksum lane");
    }
    return update;
}

JobMessage job_message_at(const Bytes &bytes, std::size_t at) {
    auto job = decoded<JobMessage>(bytes, at, OLAF_ROUNDS_VERSION);
    job.type = static_cast<olaf_message_type>(get_be(bytes, at + 3, 1));
    require(job.type >= OLAF_CONTROL && job.type <= OLAF_RESULT, "not a job's message");
    job.flags = static_cast<std::uint16_t>(get_be(bytes, at + 4, 2));
    auto sealed = bytes;
    seal(sealed, at);
    require(sealed == bytes, "header's check");
    job.check = 0;
    job.vector = job.rank & 0xffff0000;
    job.rank &= 0xffff;
    if (job.type == OLAF_RESULT && job.rank == OLAF_EVERY_RANK)
        job.rank = OLAF_EVERY_WORKER;
    if (job.has_content()) {
        job.vector |= job.count >> 16;
        job.count &= 0xffff;
    }
    return job;
}

/// The frame taken apart: `read` takes the message out of its bytes.
template <class Out, class Read>
std::optional<Out> parsed(Bytes bytes, std::string *why, std::size_t port_at, Read read) {
    try {
        Out out;
        out.frame = parse_headers(bytes, port_at);
        read(out, bytes);
        out.frame.bytes = std::move(bytes);
        return out;
    } catch (const Reject &reject) {
        if (why)
            *why = reject.why;
        return std::nullopt;
    }
}

} // namespace

std::optional<Received> parse_update(Bytes bytes, std::string *why) {
    return parsed<Received>(std::move(bytes), why, 2, [](auto &out, const Bytes &all) {
        out.update = update_at(all, out.frame.message);
    });
}

std::optional<ReceivedAck> parse_ack(Bytes bytes, std::string *why) {
    return parsed<ReceivedAck>(std::move(bytes), why, 0, [](auto &out, const Bytes &all) {
        out.ack = ack_at(all, out.frame.message);
    });
}

std::optional<ReceivedJobMessage> parse_job_message(Bytes bytes, std::string *why) {
    return parsed<ReceivedJobMessage>(std::move(bytes), why, 0, [](auto &out, const Bytes &all) {
        out.port = static_cast<std::uint16_t>(get_be(all, out.frame.l4 + 2, 2));
        out.message = job_message_at(all, out.frame.message);
    });
}

} // namespace olaf::test
