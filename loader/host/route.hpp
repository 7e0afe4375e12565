// SPDX-License-Identifier: BSD-2-Clause
// Routes and neighbours, as the kernel has them.
#pragma once

#include <cstdint>

#include "loader/text/address.hpp"
#include "olaf/result.hpp"

namespace olaf {

struct Route {
    std::uint32_t ifindex = 0; ///< device it leaves by
    IpAddress source;          ///< address it leaves with
    IpAddress gateway;         ///< family 0: none, it is on the link
    bool local = false;        ///< the address is this host's own
};

Result<Route> route_to(const IpAddress &address);

/// The neighbour that it is sent to by that device: a gateway, or itself. Fails without a route.
Result<IpAddress> gateway_to(const IpAddress &address, std::uint32_t ifindex);

/// Makes the kernel resolve the next hop, by sending one empty datagram, which a server ignores.
/// Never waits; a failure does no harm.
void wake_neighbour(const Endpoint &endpoint);

// What the kernel knows of a neighbour.

/// Whether its MAC address is known on that device, if only from long ago.
bool neighbour_known(const IpAddress &address, std::uint32_t ifindex);

} // namespace olaf
