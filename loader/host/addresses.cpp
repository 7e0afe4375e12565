// SPDX-License-Identifier: BSD-2-Clause
#include "addresses.hpp"

#include <linux/if_addr.h>
#include <linux/if_arp.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/errno.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "netlink.hpp"
#include "olaf/try.hpp"

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

namespace {

constexpr int patience = 8; // dumps; one is spoilt when the list changes meanwhile

/// All that the kernel lists of one kind, each answer taken apart by `read`.
template <class Item, class Header>
Result<std::vector<Item>> list(int type, const char *what, const Header &header,
                               void (*read)(nlmsghdr *, std::vector<Item> &)) {
    auto netlink = OLAF_TRY(Netlink::open(NETLINK_ROUTE));
    std::vector<Item> found;
    int error = -NLE_DUMP_INTR;
    for (int i = 0; i < patience && error == -NLE_DUMP_INTR; i++) {
        found.clear();
        error = netlink.query(make_message(type, NLM_F_DUMP, &header, sizeof header),
                              [&](nlmsghdr *answer) { read(answer, found); });
    }
    if (error < 0)
        return fail("list", what, errno_of_netlink(error));
    return found;
}

/// Loopback addresses never appear on a wire: the kernel drops frames that have one.
bool loopback(const olaf_own_address &address) {
    static constexpr std::array<std::uint8_t, 16> loopback6 = {0, 0, 0, 0, 0, 0, 0, 0,
                                                               0, 0, 0, 0, 0, 0, 0, 1};
    std::array<std::uint8_t, 16> bytes{};
    std::memcpy(bytes.data(), &address, sizeof address);
    const bool mapped = address.words_be[2] == htonl(0xffff) && address.words_be[0] == 0 &&
                        address.words_be[1] == 0;
    return bytes == loopback6 || (mapped && bytes[12] == 127);
}

/// An address, and the device that it is on.
struct Address {
    std::uint32_t ifindex = 0;
    bool link_local = false; ///< IPv6's: every device has one
    olaf_own_address own{};
};

void read_address(nlmsghdr *answer, std::vector<Address> &into) {
    nlattr *attributes[IFA_MAX + 1] = {};
    if (answer->nlmsg_type != RTM_NEWADDR ||
        nlmsg_parse(answer, sizeof(ifaddrmsg), attributes, IFA_MAX, nullptr) < 0)
        return;
    const auto *header = static_cast<ifaddrmsg *>(nlmsg_data(answer));
    // On a point-to-point link IFA_ADDRESS is the other end; where IFA_LOCAL is, that is ours.
    nlattr *local = attributes[IFA_LOCAL] ? attributes[IFA_LOCAL] : attributes[IFA_ADDRESS];
    const auto flags =
        attributes[IFA_FLAGS] ? nla_get_u32(attributes[IFA_FLAGS]) : header->ifa_flags;
    if (!local || (flags & IFA_F_DADFAILED))
        return;
    Address address;
    address.ifindex = header->ifa_index;
    if (header->ifa_family == AF_INET && nla_len(local) == 4) {
        address.own.words_be[2] = htonl(0xffff);
        std::memcpy(&address.own.words_be[3], nla_data(local), 4);
    } else if (header->ifa_family == AF_INET6 && nla_len(local) == 16) {
        std::memcpy(&address.own, nla_data(local), 16);
        address.link_local = header->ifa_scope == RT_SCOPE_LINK;
    } else {
        return;
    }
    if (!loopback(address.own))
        into.push_back(address);
}

std::string kind_of(nlattr *information) {
    nlattr *attributes[IFLA_INFO_MAX + 1] = {};
    if (!information ||
        nla_parse_nested(attributes, IFLA_INFO_MAX, information, nullptr) < 0 ||
        !attributes[IFLA_INFO_KIND])
        return {};
    return nla_get_string(attributes[IFLA_INFO_KIND]);
}

void read_link(nlmsghdr *answer, std::vector<Link> &into) {
    nlattr *attributes[IFLA_MAX + 1] = {};
    if (answer->nlmsg_type != RTM_NEWLINK ||
        nlmsg_parse(answer, sizeof(ifinfomsg), attributes, IFLA_MAX, nullptr) < 0)
        return;
    const auto *header = static_cast<ifinfomsg *>(nlmsg_data(answer));
    Link link;
    link.ifindex = static_cast<std::uint32_t>(header->ifi_index);
    link.kind = kind_of(attributes[IFLA_LINKINFO]);
    if (attributes[IFLA_MASTER])
        link.master = nla_get_u32(attributes[IFLA_MASTER]);
    // With IFLA_LINK_NETNSID the index is one of another namespace.
    if (attributes[IFLA_LINK] && !attributes[IFLA_LINK_NETNSID])
        link.lower = nla_get_u32(attributes[IFLA_LINK]);
    nlattr *mac = attributes[IFLA_ADDRESS];
    link.ethernet = header->ifi_type == ARPHRD_ETHER && mac && nla_len(mac) == sizeof link.mac.mac;
    if (link.ethernet)
        std::memcpy(link.mac.mac, nla_data(mac), sizeof link.mac.mac);
    into.push_back(link);
}

Result<std::vector<Address>> list_addresses() {
    return list(RTM_GETADDR, "this host's addresses", ifaddrmsg{}, read_address);
}

Result<std::vector<Link>> list_links() {
    return list(RTM_GETLINK, "this host's devices", ifinfomsg{}, read_link);
}

} // namespace

Result<OwnAddresses> host_addresses(std::uint32_t ifindex) {
    const auto addresses = OLAF_TRY(list_addresses());
    const auto links = OLAF_TRY(list_links());
    OwnAddresses own{.addresses = {}, .macs = own_macs(links, ifindex)};
    for (const auto &address : addresses)
        own.addresses.push_back(address.own);
    return own;
}

Result<DeviceAddresses> device_addresses(std::uint32_t ifindex) {
    const auto found = OLAF_TRY(list_addresses());
    DeviceAddresses own;
    for (const auto &address : found) {
        if (address.ifindex != ifindex)
            continue;
        const auto &words = address.own.words_be;
        if (address.own.words_be[2] == htonl(0xffff) && words[0] == 0 && words[1] == 0) {
            if (own.v4.family == 0)
                own.v4 = {.family = 4, .words_be = {words[3]}};
        } else if (own.v6.family == 0 || address.link_local) {
            own.v6.family = 6;
            std::ranges::copy(words, own.v6.words_be.begin());
        }
    }
    return own;
}

Result<bool> has_address(std::uint32_t ifindex) {
    const auto addresses = OLAF_TRY(list_addresses());
    const auto links = OLAF_TRY(list_links());
    const auto devices = takers(links, ifindex);
    return std::ranges::any_of(addresses, [&](const Address &address) {
        return !address.link_local && devices.contains(address.ifindex);
    });
}

} // namespace olaf
