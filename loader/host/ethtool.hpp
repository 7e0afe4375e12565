// SPDX-License-Identifier: BSD-2-Clause
// What `ethtool` tells of a device, and the one thing we set with it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "olaf/result.hpp"

namespace olaf {

/// Bits/s; nothing when the driver doesn't know, as with a link that is down.
std::optional<std::uint64_t> link_speed(const std::string &device);

struct Driver {
    std::string name; ///< "" when it doesn't say
    std::string firmware;
    std::string bus; ///< "0000:01:00.0" of a PCI device, whatever namespace it is in; else "" or other
};
Driver driver_of(const std::string &device);

struct Offloads {
    bool lro = false;
    bool rx_vlan = false;
    bool tx_checksum = false;
};
Offloads offloads_of(const std::string &device);

/// Receive queues in use; 0 when the driver doesn't say.
std::uint32_t receive_queues(const std::string &device);

/// From now on the kernel itself finishes the checksums of frames that this host sends by the
/// device.
Result<void> disable_tx_checksum(const std::string &device);

} // namespace olaf
