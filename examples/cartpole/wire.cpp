// SPDX-License-Identifier: BSD-2-Clause
#include "wire.hpp"

#include <charconv>

namespace olaf::cartpole {

Result<Address> parse_address(const std::string &text) {
    const std::size_t colon = text.rfind(':');
    const bool bracketed = text.starts_with('[');
    // More than one colon and no brackets: an IPv6 address without a port.
    const bool has_port = colon != std::string::npos &&
                          (bracketed ? text[colon - 1] == ']' : text.find(':') == colon);
    std::string host = has_port ? text.substr(0, colon) : text;
    if (bracketed && host.ends_with(']'))
        host = host.substr(1, host.size() - 2);
    if (!has_port)
        return Address::resolve(host);

    std::uint16_t port = 0;
    const char *end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data() + colon + 1, end, port);
    if (error != std::errc() || rest != end)
        return fail("parse address", text, 0, "write ADDR[:PORT]", "the port is not a number");
    return Address::resolve(host, port);
}

} // namespace olaf::cartpole
