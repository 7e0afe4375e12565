// SPDX-License-Identifier: BSD-2-Clause
#include "offloads.hpp"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <stdexcept>

#include "netns.hpp"

namespace olaf::test {
namespace {

void order(int fd, const std::string &device, std::uint32_t command, std::uint32_t &data) {
    ethtool_value value{.cmd = command, .data = data};
    ifreq request{};
    std::strncpy(request.ifr_name, device.c_str(), IFNAMSIZ - 1);
    request.ifr_data = reinterpret_cast<char *>(&value);
    if (ioctl(fd, SIOCETHTOOL, &request) != 0)
        throw std::runtime_error("ethtool command " + std::to_string(command) + " on " + device);
    data = value.data;
}

} // namespace

void set_offloads(const Netns &netns, const std::string &device, const Offloads &offloads) {
    const Inside inside(netns);
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    std::uint32_t gro = offloads.gro, checksum = offloads.tx_checksum, flags = 0;
    order(fd, device, ETHTOOL_SGRO, gro);
    order(fd, device, ETHTOOL_STXCSUM, checksum);
    order(fd, device, ETHTOOL_GFLAGS, flags);
    flags = offloads.tx_vlan ? flags | ETH_FLAG_TXVLAN : flags & ~std::uint32_t{ETH_FLAG_TXVLAN};
    order(fd, device, ETHTOOL_SFLAGS, flags);
    close(fd);
}

} // namespace olaf::test
