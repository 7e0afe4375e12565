// SPDX-License-Identifier: BSD-2-Clause
#include "device.hpp"

#include <net/if.h>
#include <net/if_arp.h>
#include <netlink/route/link.h>

#include <cerrno>
#include <cstring>

#include "netlink.hpp"
#include "olaf/try.hpp"

namespace olaf {
namespace {

struct LinkPutter {
    void operator()(rtnl_link *link) const { rtnl_link_put(link); }
};

Result<Device> lookup(int ifindex, const char *name) {
    const auto label = name ? std::string(name) : "ifindex " + std::to_string(ifindex);
    auto netlink = OLAF_TRY(Netlink::open(NETLINK_ROUTE));
    rtnl_link *found = nullptr;
    if (const int error = rtnl_link_get_kernel(netlink.get(), ifindex, name, &found); error < 0)
        return fail("find device", label, errno_of_netlink(error),
                    "ip link shows this namespace's devices, --netns NAME enters another");
    const std::unique_ptr<rtnl_link, LinkPutter> link(found);

    Device device;
    device.name = rtnl_link_get_name(found);
    device.ifindex = static_cast<std::uint32_t>(rtnl_link_get_ifindex(found));
    device.mtu = rtnl_link_get_mtu(found);
    device.master = static_cast<std::uint32_t>(rtnl_link_get_master(found));
    constexpr unsigned lower_up = 1u << 16; // IFF_LOWER_UP, which <net/if.h> doesn't have
    device.up = rtnl_link_get_flags(found) & IFF_UP;
    device.carrier = rtnl_link_get_flags(found) & lower_up;
    if (const char *kind = rtnl_link_get_type(found))
        device.kind = kind;
    nl_addr *mac = rtnl_link_get_addr(found);
    device.ethernet = rtnl_link_get_arptype(found) == ARPHRD_ETHER && mac != nullptr &&
                      nl_addr_get_len(mac) == device.mac.size();
    if (device.ethernet)
        std::memcpy(device.mac.data(), nl_addr_get_binary_addr(mac), device.mac.size());
    return device;
}

} // namespace

Result<Device> find_device(const std::string &name) {
    if (name.empty() || name.size() >= IF_NAMESIZE)
        return fail("find device", name, ENODEV, "a name has 1 ... 15 characters");
    return lookup(0, name.c_str());
}

Result<Device> find_device(std::uint32_t ifindex) {
    if (ifindex == 0) // no device: libnl would abort
        return fail("find device", "of index 0", ENODEV);
    return lookup(static_cast<int>(ifindex), nullptr);
}

} // namespace olaf
