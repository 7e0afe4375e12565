// SPDX-License-Identifier: BSD-2-Clause
// A queue that delivers upstream, and its server's answers. The queue is host 1 of the servers'
// network, the server host 9 of it.
#pragma once

#include <arpa/inet.h>

#include "harness.hpp"
#include "packet.hpp"

namespace olaf::test {

inline constexpr std::uint16_t upstream_port = 7000;
inline constexpr Mac own_mac = {2, 0, 0, 0, 8, 8}, gateway_mac = {2, 0, 0, 0, 8, 9};

inline IpAddress host_of_servers(int family, std::uint8_t host) {
    if (family == 4)
        return {.family = 4, .words_be = {htonl(0x0a000100u | host)}};
    return {.family = 6, .words_be = {htonl(0xfd000000), htonl(1), 0, htonl(host)}};
}

/// The same queue, delivering upstream by the device that its updates come in by.
inline DatapathConfig upstream_of(DatapathConfig config, std::uint32_t ifindex, int family) {
    config.deliver = OLAF_DELIVER_UPSTREAM;
    config.ifindex = config.egress_ifindex = ifindex;
    config.mac = own_mac;
    config.upstream = host_of_servers(family, 9);
    config.source = host_of_servers(family, 1);
    config.upstream_port = upstream_port;
    return config;
}

/// What the server's answer comes in: to host 1 of its own network, at the queue's port.
inline Path from_upstream(int family) {
    Path path = family == 4 ? ipv4() : ipv6();
    return path.from(gateway_mac).to(own_mac).among_servers().source(9).target(1)
        .source_port(upstream_port).ttl(30).id(0);
}

} // namespace olaf::test
