// SPDX-License-Identifier: BSD-2-Clause
#include "xdp_features.hpp"

#include <linux/genetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>

#include "netlink.hpp"

namespace olaf {
namespace {

// linux/netdev.h, which kernel headers before 6.3 lack.
constexpr std::uint8_t netdev_version = 1, netdev_cmd_dev_get = 1;
constexpr int netdev_a_dev_ifindex = 1, netdev_a_dev_xdp_features = 3,
              netdev_a_dev_rx_metadata = 5, netdev_a_dev_max = 5;
constexpr std::uint64_t basic = 1, redirect = 2, ndo_xmit = 4, rx_sg = 32, ndo_xmit_sg = 64;
constexpr std::uint64_t metadata_vlan_tag = 4;

Message command(int family, std::uint8_t command, std::uint8_t version) {
    genlmsghdr header{};
    header.cmd = command;
    header.version = version;
    return make_message(family, 0, &header, sizeof header);
}

std::optional<int> family_id(Netlink &netlink) {
    auto message = command(GENL_ID_CTRL, CTRL_CMD_GETFAMILY, 1);
    if (message)
        nla_put_string(message.get(), CTRL_ATTR_FAMILY_NAME, "netdev");
    std::optional<int> id;
    netlink.query(std::move(message), [&](nlmsghdr *answer) {
        nlattr *attribute = nlmsg_find_attr(answer, sizeof(genlmsghdr), CTRL_ATTR_FAMILY_ID);
        if (attribute)
            id = nla_get_u16(attribute);
    });
    return id;
}

} // namespace

std::optional<XdpFeatures> xdp_features(std::uint32_t ifindex) {
    auto netlink = Netlink::open(NETLINK_GENERIC);
    if (!netlink)
        return {};
    const auto family = family_id(*netlink);
    if (!family)
        return {};
    auto message = command(*family, netdev_cmd_dev_get, netdev_version);
    if (message)
        nla_put_u32(message.get(), netdev_a_dev_ifindex, ifindex);
    std::optional<std::uint64_t> bits;
    std::uint64_t metadata = 0;
    netlink->query(std::move(message), [&](nlmsghdr *answer) {
        nlattr *attributes[netdev_a_dev_max + 1] = {};
        if (nlmsg_parse(answer, sizeof(genlmsghdr), attributes, netdev_a_dev_max, nullptr) >= 0 &&
            attributes[netdev_a_dev_xdp_features])
            bits = nla_get_u64(attributes[netdev_a_dev_xdp_features]);
        if (attributes[netdev_a_dev_rx_metadata])
            metadata = nla_get_u64(attributes[netdev_a_dev_rx_metadata]);
    });
    if (!bits)
        return {};
    return XdpFeatures{.basic = (*bits & basic) != 0,
                       .redirect = (*bits & redirect) != 0,
                       .target = (*bits & ndo_xmit) != 0,
                       .frags = (*bits & rx_sg) != 0,
                       .target_frags = (*bits & ndo_xmit_sg) != 0,
                       .vlan_tag = (metadata & metadata_vlan_tag) != 0};
}

} // namespace olaf
