// SPDX-License-Identifier: BSD-2-Clause
#include "ethtool.hpp"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "fd.hpp"

namespace olaf {
namespace {

/// 0 or a positive errno.
int command(const std::string &device, void *data) {
    const Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (!socket)
        return errno;
    ifreq request{};
    std::strncpy(request.ifr_name, device.c_str(), IFNAMSIZ - 1);
    request.ifr_data = static_cast<char *>(data);
    return ::ioctl(socket.get(), SIOCETHTOOL, &request) == 0 ? 0 : errno;
}

template <std::size_t N> std::string text(const char (&field)[N]) {
    return std::string(field, ::strnlen(field, N));
}

} // namespace

std::optional<std::uint64_t> link_speed(const std::string &device) {
    // The first call asks how many words of link modes the kernel has.
    std::vector<std::uint32_t> space(sizeof(ethtool_link_settings) / 4 + 3 * 127);
    auto *settings = reinterpret_cast<ethtool_link_settings *>(space.data());
    settings->cmd = ETHTOOL_GLINKSETTINGS;
    if (command(device, settings) != 0 || settings->link_mode_masks_nwords >= 0)
        return {};
    settings->link_mode_masks_nwords = static_cast<__s8>(-settings->link_mode_masks_nwords);
    settings->cmd = ETHTOOL_GLINKSETTINGS;
    if (command(device, settings) != 0 || settings->speed == 0 ||
        settings->speed == static_cast<__u32>(SPEED_UNKNOWN))
        return {};
    return std::uint64_t{settings->speed} * 1'000'000;
}

Driver driver_of(const std::string &device) {
    ethtool_drvinfo info{};
    info.cmd = ETHTOOL_GDRVINFO;
    if (command(device, &info) != 0)
        return {};
    return {text(info.driver), text(info.fw_version), text(info.bus_info)};
}

Offloads offloads_of(const std::string &device) {
    ethtool_value value{};
    value.cmd = ETHTOOL_GFLAGS;
    if (command(device, &value) != 0)
        return {};
    ethtool_value checksum{};
    checksum.cmd = ETHTOOL_GTXCSUM;
    return {.lro = (value.data & ETH_FLAG_LRO) != 0,
            .rx_vlan = (value.data & ETH_FLAG_RXVLAN) != 0,
            .tx_checksum = command(device, &checksum) == 0 && checksum.data != 0};
}

std::uint32_t receive_queues(const std::string &device) {
    ethtool_channels channels{};
    channels.cmd = ETHTOOL_GCHANNELS;
    if (command(device, &channels) != 0)
        return 0;
    return channels.rx_count + channels.combined_count;
}

Result<void> disable_tx_checksum(const std::string &device) {
    ethtool_value value{};
    value.cmd = ETHTOOL_STXCSUM;
    value.data = 0;
    if (const int error = command(device, &value); error != 0)
        return fail("switch off checksum offload on", device, error);
    return {};
}

} // namespace olaf
