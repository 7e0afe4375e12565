// SPDX-License-Identifier: BSD-2-Clause
// What a driver can do with XDP, by its own word (netlink family "netdev", Linux 6.3).
#pragma once

#include <cstdint>
#include <optional>

namespace olaf {

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
