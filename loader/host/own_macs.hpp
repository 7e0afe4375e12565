// SPDX-License-Identifier: BSD-2-Clause
// To which MAC addresses a frame may be sent so that it reaches this host through one device.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "olaf/own.h"

namespace olaf {

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

} // namespace olaf
