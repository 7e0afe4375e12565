// SPDX-License-Identifier: BSD-2-Clause
// The addresses of this network namespace and of its devices, as the kernel has them.
#pragma once

#include <cstdint>
#include <vector>

#include "loader/text/address.hpp"
#include "olaf/own.h"
#include "olaf/result.hpp"

namespace olaf {

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
