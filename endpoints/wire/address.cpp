// SPDX-License-Identifier: BSD-2-Clause
#include <olaf/address.hpp>

#include <charconv>
#include <cstring>
#include <memory>

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>

namespace olaf {
namespace {

const sockaddr_in &v4(const sockaddr_storage &storage) {
    return reinterpret_cast<const sockaddr_in &>(storage);
}

const sockaddr_in6 &v6(const sockaddr_storage &storage) {
    return reinterpret_cast<const sockaddr_in6 &>(storage);
}

} // namespace

Result<Address> Address::resolve(const std::string &host, std::uint16_t port, int family) {
    addrinfo hints{};
    hints.ai_family = family;
    hints.ai_socktype = SOCK_DGRAM;
    hints.ai_flags = AI_NUMERICSERV;
    addrinfo *found = nullptr;
    const int status = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
    if (status != 0)
        return fail("resolve address", host, status == EAI_SYSTEM ? errno : 0, {},
                    gai_strerror(status));
    const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, &freeaddrinfo);

    Address address;
    std::memcpy(&address.storage_, found->ai_addr, found->ai_addrlen);
    return address;
}

Result<Address> Address::parse(const std::string &text, int family) {
    const std::size_t colon = text.rfind(':');
    const bool bracketed = text.starts_with('[');
    // More than one colon and no brackets: an IPv6 address without a port.
    const bool has_port = colon != std::string::npos &&
                          (bracketed ? text[colon - 1] == ']' : text.find(':') == colon);
    std::string host = has_port ? text.substr(0, colon) : text;
    if (bracketed && host.ends_with(']'))
        host = host.substr(1, host.size() - 2);
    if (!has_port)
        return resolve(host, OLAF_DEFAULT_PORT, family);

    std::uint16_t port = 0;
    const char *end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data() + colon + 1, end, port);
    if (error != std::errc() || rest != end)
        return fail("parse address", text, 0, "write ADDR[:PORT]", "the port is not a number");
    return resolve(host, port, family);
}

Address Address::from(const sockaddr_storage &storage) {
    Address address;
    if (storage.ss_family == AF_INET || storage.ss_family == AF_INET6)
        address.storage_ = storage;
    return address;
}

std::uint16_t Address::port() const {
    switch (family()) {
    case AF_INET:
        return ntohs(v4(storage_).sin_port);
    case AF_INET6:
        return ntohs(v6(storage_).sin6_port);
    default:
        return 0;
    }
}

socklen_t Address::size() const {
    switch (family()) {
    case AF_INET:
        return sizeof(sockaddr_in);
    case AF_INET6:
        return sizeof(sockaddr_in6);
    default:
        return 0;
    }
}

std::string Address::text() const {
    char host[NI_MAXHOST];
    if (size() == 0 ||
        getnameinfo(data(), size(), host, sizeof(host), nullptr, 0, NI_NUMERICHOST) != 0)
        return "unspecified";
    std::string text(host);
    if (is_ipv6())
        text = std::string("[").append(host).append("]");
    return text.append(":").append(std::to_string(port()));
}

bool Address::operator==(const Address &other) const {
    if (family() != other.family() || port() != other.port())
        return false;
    if (is_ipv6())
        return std::memcmp(&v6(storage_).sin6_addr, &v6(other.storage_).sin6_addr,
                           sizeof(in6_addr)) == 0 &&
               v6(storage_).sin6_scope_id == v6(other.storage_).sin6_scope_id;
    return size() == 0 || v4(storage_).sin_addr.s_addr == v4(other.storage_).sin_addr.s_addr;
}

} // namespace olaf
