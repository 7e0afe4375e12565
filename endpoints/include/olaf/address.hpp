// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <string>

#include <sys/socket.h>

#include <olaf/protocol.h>
#include <olaf/result.hpp>

namespace olaf {

/// An IPv4 or IPv6 address and UDP port. A value; const members are thread-safe.
class Address {
  public:
    /// Unspecified: family AF_UNSPEC.
    Address() = default;

    /// A numeric address or a host name, and a port in host byte order. IPv6 may carry a
    /// zone ("fe80::1%eth0"). A name is looked up, which can block for as long as the
    /// host's resolver does. `family`: AF_INET or AF_INET6, for a name that has both.
    [[nodiscard]] static Result<Address> resolve(const std::string &host,
                                                 std::uint16_t port = OLAF_DEFAULT_PORT,
                                                 int family = AF_UNSPEC);
    /// "ADDR", "ADDR:PORT", "IPV6" or "[IPV6]:PORT", resolved as above.
    [[nodiscard]] static Result<Address> parse(const std::string &text, int family = AF_UNSPEC);
    /// A socket address as the kernel gives it; AF_UNSPEC if it's of another family.
    [[nodiscard]] static Address from(const sockaddr_storage &storage);

    [[nodiscard]] bool is_ipv6() const { return storage_.ss_family == AF_INET6; }
    [[nodiscard]] int family() const { return storage_.ss_family; }
    [[nodiscard]] std::uint16_t port() const; ///< host byte order
    [[nodiscard]] const sockaddr *data() const {
        return reinterpret_cast<const sockaddr *>(&storage_);
    }
    [[nodiscard]] socklen_t size() const;
    /// "192.0.2.1:6523" or "[2001:db8::1]:6523".
    [[nodiscard]] std::string text() const;

    [[nodiscard]] bool operator==(const Address &other) const;

  private:
    sockaddr_storage storage_{};
};

} // namespace olaf
