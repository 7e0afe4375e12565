// SPDX-License-Identifier: BSD-2-Clause
#include "address.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>

#include "units.hpp"

namespace olaf {
namespace {

constexpr std::uint32_t mapped_bits = 96; // of ::ffff:0:0/96
constexpr std::uint8_t mapped_prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

bool bit(const std::uint8_t *bytes, std::uint32_t index) {
    return (bytes[index / 8] >> (7 - index % 8)) & 1;
}

} // namespace

IpAddress address_of(std::uint32_t family, std::span<const std::uint32_t, 4> words_be) {
    IpAddress address{.family = family};
    std::ranges::copy(words_be, address.words_be.begin());
    return address;
}

Result<IpAddress> parse_address(std::string_view text) {
    const std::string terminated(text);
    IpAddress address;
    if (::inet_pton(AF_INET, terminated.c_str(), address.words_be.data()) == 1)
        address.family = 4;
    else if (::inet_pton(AF_INET6, terminated.c_str(), address.words_be.data()) == 1)
        address.family = 6;
    else
        return cannot_read("address", text, "write 192.0.2.1 or 2001:db8::1");
    return address;
}

Result<Endpoint> parse_endpoint(std::string_view text) {
    constexpr auto hint = "write 192.0.2.1, 192.0.2.1:6523, 2001:db8::1 or [2001:db8::1]:6523";
    std::string_view host = text, port;
    if (text.starts_with('[')) {
        const auto close = text.find(']');
        if (close == text.npos || (close + 1 < text.size() && text[close + 1] != ':'))
            return cannot_read("endpoint", text, hint);
        host = text.substr(1, close - 1);
        if (host.find(':') == host.npos)
            return cannot_read("endpoint", text, hint);
        if (close + 1 < text.size()) {
            port = text.substr(close + 2);
            if (port.empty())
                return cannot_read("endpoint", text, hint);
        }
    } else if (const auto colon = text.find(':');
               colon != text.npos && text.find(':', colon + 1) == text.npos) {
        host = text.substr(0, colon);
        port = text.substr(colon + 1);
        if (port.empty())
            return cannot_read("endpoint", text, hint);
    }
    const auto address = parse_address(host);
    if (!address)
        return cannot_read("endpoint", text, hint);
    Endpoint endpoint{.address = *address};
    if (!port.empty()) {
        const auto number = parse_count(port, 1, 65535);
        if (!number)
            return cannot_read("endpoint", text, hint);
        endpoint.port = static_cast<std::uint16_t>(*number);
    }
    return endpoint;
}

Result<olaf_prefix> parse_prefix(std::string_view text) {
    constexpr auto hint = "write 192.0.2.0/24, 2001:db8::/32 or one address";
    const auto slash = text.find('/');
    const auto address = parse_address(text.substr(0, slash));
    if (!address)
        return cannot_read("prefix", text, hint);
    const bool v4 = address->family == 4;
    const std::uint32_t width = v4 ? 32 : 128;
    std::uint32_t bits = width;
    if (slash != text.npos) {
        const auto number = parse_count(text.substr(slash + 1), 0, width);
        if (!number)
            return cannot_read("prefix", text, hint);
        bits = *number;
    }
    olaf_prefix prefix{};
    prefix.prefix_bits = v4 ? mapped_bits + bits : bits;
    if (v4)
        std::memcpy(prefix.address, mapped_prefix, sizeof mapped_prefix);
    std::memcpy(prefix.address + (v4 ? sizeof mapped_prefix : 0), address->words_be.data(),
                width / 8);
    for (std::uint32_t i = prefix.prefix_bits; i < 128; i++)
        if (bit(prefix.address, i))
            return cannot_read("prefix", text, "bits behind the prefix length must be zero");
    return prefix;
}

std::string address_text(const IpAddress &address) {
    char text[INET6_ADDRSTRLEN] = "?";
    if (address.family != 0)
        ::inet_ntop(address.family == 4 ? AF_INET : AF_INET6, address.words_be.data(), text,
                    sizeof text);
    return text;
}

std::string endpoint_text(const Endpoint &endpoint) {
    const auto host = address_text(endpoint.address);
    return endpoint.address.family == 6 ? fmt::format("[{}]:{}", host, endpoint.port)
                                        : fmt::format("{}:{}", host, endpoint.port);
}

std::string prefix_text(const olaf_prefix &prefix) {
    const bool v4 = prefix.prefix_bits >= mapped_bits &&
                    std::memcmp(prefix.address, mapped_prefix, sizeof mapped_prefix) == 0;
    IpAddress address{.family = v4 ? 4u : 6u};
    std::memcpy(address.words_be.data(), prefix.address + (v4 ? sizeof mapped_prefix : 0),
                v4 ? 4 : 16);
    return fmt::format("{}/{}", address_text(address), prefix.prefix_bits - (v4 ? mapped_bits : 0));
}

unsigned to_sockaddr(const Endpoint &endpoint, sockaddr_storage &storage) {
    storage = {};
    if (endpoint.address.family == 4) {
        sockaddr_in in{};
        in.sin_family = AF_INET;
        in.sin_port = htons(endpoint.port);
        in.sin_addr.s_addr = endpoint.address.words_be[0];
        std::memcpy(&storage, &in, sizeof in);
        return sizeof in;
    }
    sockaddr_in6 in{};
    in.sin6_family = AF_INET6;
    in.sin6_port = htons(endpoint.port);
    std::memcpy(&in.sin6_addr, endpoint.address.words_be.data(), sizeof in.sin6_addr);
    std::memcpy(&storage, &in, sizeof in);
    return sizeof in;
}

} // namespace olaf
