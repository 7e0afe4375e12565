// SPDX-License-Identifier: BSD-2-Clause
#include "pcapng.hpp"

#include <limits>

namespace olaf::pcapng {
namespace {

enum : std::uint32_t {
    block_interface = 1,
    block_statistics = 5,
    block_packet = 6,
    block_section = 0x0a0d0d0a,
};

enum : std::uint16_t {
    option_end = 0,
    option_comment = 1,
    option_section_application = 4,
    option_interface_name = 2,
    option_interface_resolution = 9,
    option_packet_flags = 2,
    option_statistics_received = 4,
    option_statistics_dropped = 5,
};

constexpr std::uint16_t link_ethernet = 1;
constexpr std::uint32_t byte_order_magic = 0x1a2b3c4d;
constexpr char nanoseconds = 9; // 10^-9 s

template <class T> void put(std::string &out, T value) {
    out.append(reinterpret_cast<const char *>(&value), sizeof value);
}

void pad(std::string &out) {
    out.resize((out.size() + 3) / 4 * 4, '\0');
}

void put_option(std::string &out, std::uint16_t code, std::string value) {
    if (value.size() > std::numeric_limits<std::uint16_t>::max())
        value.resize(std::numeric_limits<std::uint16_t>::max());
    put(out, code);
    put(out, static_cast<std::uint16_t>(value.size()));
    out += value;
    pad(out);
}

template <class T> void put_number(std::string &out, std::uint16_t code, T value) {
    std::string bytes;
    put(bytes, value);
    put_option(out, code, bytes);
}

void put_time(std::string &out, std::uint64_t ns) {
    put(out, static_cast<std::uint32_t>(ns >> 32));
    put(out, static_cast<std::uint32_t>(ns));
}

/// Type and length before the body, the length again behind it.
std::string block(std::uint32_t type, std::string body) {
    put_option(body, option_end, {});
    const auto length = static_cast<std::uint32_t>(body.size() + 12);
    std::string out;
    put(out, type);
    put(out, length);
    out += body;
    put(out, length);
    return out;
}

} // namespace

std::string section_header(const std::string &application) {
    std::string body;
    put(body, byte_order_magic);
    put(body, std::uint16_t{1}); // version 1.0
    put(body, std::uint16_t{0});
    put(body, std::int64_t{-1}); // its length isn't known while it is written
    put_option(body, option_section_application, application);
    return block(block_section, body);
}

std::string interface_description(const std::string &name, std::uint32_t snap_bytes) {
    std::string body;
    put(body, link_ethernet);
    put(body, std::uint16_t{0});
    put(body, snap_bytes);
    put_option(body, option_interface_name, name);
    put_option(body, option_interface_resolution, std::string(1, nanoseconds));
    return block(block_interface, body);
}

std::string packet(const Packet &packet) {
    std::string body;
    put(body, packet.interface);
    put_time(body, packet.time_ns);
    put(body, static_cast<std::uint32_t>(packet.bytes.size()));
    put(body, packet.length);
    body.append(reinterpret_cast<const char *>(packet.bytes.data()), packet.bytes.size());
    pad(body);
    put_option(body, option_comment, packet.comment);
    put_number(body, option_packet_flags, std::uint32_t{packet.outbound ? 2u : 1u});
    return block(block_packet, body);
}

std::string interface_statistics(std::uint32_t interface, std::uint64_t time_ns,
                                 std::uint64_t received, std::uint64_t dropped) {
    std::string body;
    put(body, interface);
    put_time(body, time_ns);
    put_number(body, option_statistics_received, received);
    put_number(body, option_statistics_dropped, dropped);
    return block(block_statistics, body);
}

} // namespace olaf::pcapng
