// SPDX-License-Identifier: BSD-2-Clause
// The addresses and MAC addresses that are this host's own.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "loader/text/address.hpp"
#include "olaf/own.h"
#include "olaf/result.hpp"

namespace olaf {

// To which MAC addresses a frame may be sent so that it reaches this host through one device.

/// A device, as far as it matters who gets its frames. An index of 0: none.
struct Link {
    std::uint32_t ifindex = 0;
    std::uint32_t master = 0; ///< its bridge, bond or VRF
    std::uint32_t lower = 0;  ///< what it says it is linked to
    std::string kind;         ///< "veth", "bridge", …; empty for hardware
    bool ethernet = false;    ///< has a MAC address
    olaf_own_mac mac{};
};

/// The device and all that get its frames: what is on top of it, its bridge or bond, and what is
/// on top of that.
std::set<std::uint32_t> takers(const std::vector<Link> &links, std::uint32_t ifindex);

/// The MAC addresses of these.
std::vector<olaf_own_mac> own_macs(const std::vector<Link> &links, std::uint32_t ifindex);

struct OwnAddresses {
    std::vector<olaf_own_address> addresses; ///< of every device of the network namespace
    std::vector<olaf_own_mac> macs;          ///< of those that take frames arriving by the device
};

/// As the kernel has them now, for a queue on the device of that index.
Result<OwnAddresses> host_addresses(std::uint32_t ifindex);

/// Whether the device, or what is on top of it, has an IPv4 or a global IPv6 address.
Result<bool> has_address(std::uint32_t ifindex);

/// An address of each IP version that the device itself has; family 0: none. IPv6's is link-local
/// where there is one.
struct DeviceAddresses {
    IpAddress v4, v6;
};
Result<DeviceAddresses> device_addresses(std::uint32_t ifindex);

} // namespace olaf
