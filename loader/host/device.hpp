// SPDX-License-Identifier: BSD-2-Clause
// A network device of this namespace, and what its driver says of itself: by ethtool, and by the netlink
// family "netdev" (Linux 6.3).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "olaf/result.hpp"

namespace olaf {

struct Device {
    std::string name;
    std::uint32_t ifindex = 0;
    std::uint32_t mtu = 0;
    std::array<std::uint8_t, 6> mac{};
    bool ethernet = false; ///< has a MAC: frames start with an Ethernet header
    bool up = false;
    bool carrier = false;
    std::uint32_t master = 0; ///< ifindex of its bridge or bond; 0: none
    std::string kind;         ///< "veth", "bridge", …; empty for hardware
    std::uint64_t received = 0; ///< frames since it was made, whatever became of them
};

Result<Device> find_device(const std::string &name);
Result<Device> find_device(std::uint32_t ifindex);

/// A bond that watches neither its ports' carrier nor answers to its ARP requests (miimon and arp_interval are
/// 0): when a port fails, its frames go on to it and are lost, and nobody is told. False of other devices.
bool is_blind_bond(const Device &device);

// What `ethtool` tells of a device, and the one thing we set with it (others: merging.hpp).

/// A command of linux/ethtool.h. 0 or a positive errno.
int ethtool(const std::string &device, void *command);

/// Bits/s; nothing when the driver doesn't know, as with a link that is down.
std::optional<std::uint64_t> link_speed(const std::string &device);

struct Driver {
    std::string name; ///< "" when it doesn't say
    std::string firmware;
    std::string bus; ///< "0000:01:00.0" of a PCI device, whatever namespace it is in; else "" or other
};
Driver driver_of(const std::string &device);

struct Offloads {
    bool rx_vlan = false;
    bool tx_checksum = false;
};
Offloads offloads_of(const std::string &device);

/// Receive queues in use; 0 when the driver doesn't say.
std::uint32_t receive_queues(const std::string &device);
/// Send queues that the device can have; 0 when the driver doesn't say.
std::uint32_t most_send_queues(const std::string &device);

/// From now on the kernel itself finishes the checksums of frames that this host sends by the
/// device.
Result<void> disable_tx_checksum(const std::string &device);

// What a driver can do with XDP, by its own word (netlink family "netdev", Linux 6.3).

struct XdpFeatures {
    bool basic = false;    ///< native XDP: drop, pass, send back
    bool redirect = false; ///< may redirect what it receives
    bool target = false;   ///< sends what others redirect to it
    bool frags = false;    ///< frames of several buffers
    bool target_frags = false;
    bool vlan_tag = false; ///< tells a program the tag that it took off a frame (Linux 6.8)
};

/// Nothing when the kernel doesn't tell.
std::optional<XdpFeatures> xdp_features(std::uint32_t ifindex);

} // namespace olaf
