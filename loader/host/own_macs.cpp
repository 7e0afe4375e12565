// SPDX-License-Identifier: BSD-2-Clause
#include "own_macs.hpp"

#include <algorithm>

namespace olaf {
namespace {

/// Whether a device of this kind gets frames of the device that it names as its lower one. A veth
/// names its peer there, and a tunnel the device that its outer packets leave by: those two don't.
bool stacks(const std::string &kind) {
    static const std::set<std::string> kinds = {"vlan", "macvlan", "macvtap", "ipvlan", "ipvtap"};
    return kinds.contains(kind);
}

} // namespace

// A VRF is left out, for its devices take frames by their own MAC addresses only.
std::set<std::uint32_t> takers(const std::vector<Link> &links, std::uint32_t ifindex) {
    std::set<std::uint32_t> taken{ifindex};
    const auto is_master_of_one = [&](const Link &link) {
        return link.kind != "vrf" && std::ranges::any_of(links, [&](const Link &port) {
                   return port.master == link.ifindex && taken.contains(port.ifindex);
               });
    };
    for (bool more = true; more;) {
        more = false;
        for (const auto &link : links)
            if ((stacks(link.kind) && taken.contains(link.lower)) || is_master_of_one(link))
                more |= taken.insert(link.ifindex).second;
    }
    return taken;
}

std::vector<olaf_own_mac> own_macs(const std::vector<Link> &links, std::uint32_t ifindex) {
    const auto taken = takers(links, ifindex);
    // A bridge takes frames to any of its ports' addresses.
    const auto is_port = [&](const Link &port) {
        return taken.contains(port.master) && std::ranges::any_of(links, [&](const Link &link) {
                   return link.ifindex == port.master && link.kind == "bridge";
               });
    };
    std::vector<olaf_own_mac> macs;
    for (const auto &link : links)
        if (link.ethernet && (taken.contains(link.ifindex) || is_port(link)))
            macs.push_back(link.mac);
    return macs;
}

} // namespace olaf
