// SPDX-License-Identifier: BSD-2-Clause
#include "device.hpp"

#include <linux/ethtool.h>
#include <linux/genetlink.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/route/link.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "fd.hpp"
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
    device.received = rtnl_link_get_stat(found, RTNL_LINK_RX_PACKETS);
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

bool is_blind_bond(const Device &device) {
    if (device.kind != "bond")
        return false;
    const ifinfomsg header{.ifi_family = AF_UNSPEC,
                           .__ifi_pad = 0,
                           .ifi_type = 0,
                           .ifi_index = static_cast<int>(device.ifindex),
                           .ifi_flags = 0,
                           .ifi_change = 0};
    bool blind = false;
    const auto read = [&](nlmsghdr *answer) {
        nlattr *link[IFLA_MAX + 1] = {}, *info[IFLA_INFO_MAX + 1] = {}, *bond[IFLA_BOND_MAX + 1] = {};
        if (nlmsg_parse(answer, sizeof(ifinfomsg), link, IFLA_MAX, nullptr) < 0 ||
            link[IFLA_LINKINFO] == nullptr ||
            nla_parse_nested(info, IFLA_INFO_MAX, link[IFLA_LINKINFO], nullptr) < 0 ||
            info[IFLA_INFO_DATA] == nullptr ||
            nla_parse_nested(bond, IFLA_BOND_MAX, info[IFLA_INFO_DATA], nullptr) < 0)
            return;
        const auto is_0 = [&](int option) {
            return bond[option] != nullptr && nla_get_u32(bond[option]) == 0;
        };
        blind = is_0(IFLA_BOND_MIIMON) && is_0(IFLA_BOND_ARP_INTERVAL);
    };
    if (auto netlink = Netlink::open(NETLINK_ROUTE))
        (void)netlink->query(make_message(RTM_GETLINK, 0, &header, sizeof header), read);
    return blind;
}

int ethtool(const std::string &device, void *data) {
    const Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (!socket)
        return errno;
    ifreq request{};
    std::strncpy(request.ifr_name, device.c_str(), IFNAMSIZ - 1);
    request.ifr_data = static_cast<char *>(data);
    return ::ioctl(socket.get(), SIOCETHTOOL, &request) >= 0 ? 0 : errno;
}

namespace {

template <std::size_t N> std::string text(const char (&field)[N]) {
    return std::string(field, ::strnlen(field, N));
}

} // namespace

std::optional<std::uint64_t> link_speed(const std::string &device) {
    // The first call asks how many words of link modes the kernel has.
    std::vector<std::uint32_t> space(sizeof(ethtool_link_settings) / 4 + 3 * 127);
    auto *settings = reinterpret_cast<ethtool_link_settings *>(space.data());
    settings->cmd = ETHTOOL_GLINKSETTINGS;
    if (ethtool(device, settings) != 0 || settings->link_mode_masks_nwords >= 0)
        return {};
    settings->link_mode_masks_nwords = static_cast<__s8>(-settings->link_mode_masks_nwords);
    settings->cmd = ETHTOOL_GLINKSETTINGS;
    if (ethtool(device, settings) != 0 || settings->speed == 0 ||
        settings->speed == static_cast<__u32>(SPEED_UNKNOWN))
        return {};
    return std::uint64_t{settings->speed} * 1'000'000;
}

Driver driver_of(const std::string &device) {
    ethtool_drvinfo info{};
    info.cmd = ETHTOOL_GDRVINFO;
    if (ethtool(device, &info) != 0)
        return {};
    return {text(info.driver), text(info.fw_version), text(info.bus_info)};
}

Offloads offloads_of(const std::string &device) {
    ethtool_value value{};
    value.cmd = ETHTOOL_GFLAGS;
    if (ethtool(device, &value) != 0)
        return {};
    ethtool_value checksum{};
    checksum.cmd = ETHTOOL_GTXCSUM;
    return {.rx_vlan = (value.data & ETH_FLAG_RXVLAN) != 0,
            .tx_checksum = ethtool(device, &checksum) == 0 && checksum.data != 0};
}

std::uint32_t receive_queues(const std::string &device) {
    ethtool_channels channels{};
    channels.cmd = ETHTOOL_GCHANNELS;
    if (ethtool(device, &channels) != 0)
        return 0;
    return channels.rx_count + channels.combined_count;
}

std::uint32_t most_send_queues(const std::string &device) {
    ethtool_channels channels{};
    channels.cmd = ETHTOOL_GCHANNELS;
    if (ethtool(device, &channels) != 0)
        return 0;
    return channels.max_tx + channels.max_combined;
}

Result<void> disable_tx_checksum(const std::string &device) {
    ethtool_value value{};
    value.cmd = ETHTOOL_STXCSUM;
    value.data = 0;
    if (const int error = ethtool(device, &value); error != 0)
        return fail("switch off checksum offload on", device, error);
    return {};
}

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
