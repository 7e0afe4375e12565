// SPDX-License-Identifier: BSD-2-Clause
// IP addresses, endpoints and prefixes as people write them.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "olaf/queue.h"
#include "olaf/result.hpp"

struct sockaddr_storage;

namespace olaf {

/// An IP address as olaf_config keeps one: network order, IPv4 in word 0.
struct IpAddress {
    std::uint32_t family = 0; ///< 4 or 6; 0: none
    std::array<std::uint32_t, 4> words_be{};
    bool operator==(const IpAddress &) const = default;
};

/// The same of fields of a struct that the kernel shares.
IpAddress address_of(std::uint32_t family, std::span<const std::uint32_t, 4> words_be);

struct Endpoint {
    IpAddress address;
    std::uint16_t port = OLAF_DEFAULT_PORT;
    bool operator==(const Endpoint &) const = default;
};

/// "192.0.2.1", "2001:db8::1".
Result<IpAddress> parse_address(std::string_view text);

/// "192.0.2.1", "192.0.2.1:6523", "2001:db8::1", "[2001:db8::1]:6523".
Result<Endpoint> parse_endpoint(std::string_view text);

/// "192.0.2.0/24", "2001:db8::/32", or one address; bits behind the prefix must be zero.
Result<olaf_prefix> parse_prefix(std::string_view text);

std::string address_text(const IpAddress &address);
std::string endpoint_text(const Endpoint &endpoint); ///< with the port
std::string prefix_text(const olaf_prefix &prefix);

/// Fills a socket address; returns its length.
unsigned to_sockaddr(const Endpoint &endpoint, sockaddr_storage &storage);

} // namespace olaf
