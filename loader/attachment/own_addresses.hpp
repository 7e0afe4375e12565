// SPDX-License-Identifier: BSD-2-Clause
// This host's own addresses: what the kernel says, and what the queue's programs were told.
#pragma once

#include <string>
#include <vector>

#include "attachment.hpp"
#include "loader/datapath/config.hpp"
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

/// As the maps have them.
Result<OwnAddresses> told_addresses(int addresses_fd, int macs_fd);

/// Makes the maps hold just these. One that stays is never missing in between.
Result<void> tell_addresses(int addresses_fd, int macs_fd, const OwnAddresses &own);

/// host_addresses() into the maps of a queue. Only one olaf at a time may do so: hold its lock.
Result<void> refresh_addresses(int addresses_fd, int macs_fd, std::uint32_t ifindex);

/// The same for a pinned queue, unless another olaf holds its lock: that one does it.
Result<void> refresh_addresses(const Attachment &attachment);

/// In what the programs were told something else than the kernel says; as people write it.
struct OwnDifference {
    std::vector<std::string> unknown; ///< addresses and MAC addresses that the programs don't know
    std::vector<std::string> gone;    ///< ones that aren't the host's any more
};
Result<OwnDifference> own_difference(const Attachment &attachment);

/// A sentence for each, with the remedy.
std::vector<std::string> own_notes(const OwnDifference &difference, const std::string &device);

} // namespace olaf
