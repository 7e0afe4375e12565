// SPDX-License-Identifier: BSD-2-Clause
#include "port.hpp"

#include <arpa/inet.h>
#include <linux/ethtool.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iostream>
#include <stdexcept>

#include "checksum.hpp"

namespace olaf::card {
namespace {

constexpr std::size_t longest_frame = 1 << 17; // more than any device hands over
constexpr std::size_t tag_at = 12;

/// Before each frame of a socket with PACKET_VNET_HDR: struct virtio_net_hdr, whose header isn't C++.
struct LeftToDevice {
    std::uint8_t flags, gso_type;
    std::uint16_t header_bytes, gso_bytes, checksum_start, checksum_offset;
};
constexpr std::uint8_t needs_checksum = 1, not_cut = 0;

[[noreturn]] void fail(const std::string &what, const std::string &device) {
    throw std::runtime_error(what + " " + device + ": " + std::strerror(errno));
}

void set(int fd, int level, int name, const auto &value, const std::string &device) {
    if (setsockopt(fd, level, name, &value, sizeof value) != 0)
        fail("can't set up the packet socket of", device);
}

/// Frames are to come as they were sent, not merged by this device.
void keep_apart(int fd, const std::string &device) {
    ethtool_value value{.cmd = ETHTOOL_SGRO, .data = 0};
    ifreq request{};
    std::strncpy(request.ifr_name, device.c_str(), IFNAMSIZ - 1);
    request.ifr_data = reinterpret_cast<char *>(&value);
    if (ioctl(fd, SIOCETHTOOL, &request) != 0 && errno != EOPNOTSUPP)
        fail("can't switch off GRO of", device);
}

/// The tag that came beside the frame, if one did.
std::optional<tpacket_auxdata> tag_beside(msghdr &header) {
    for (auto *c = CMSG_FIRSTHDR(&header); c != nullptr; c = CMSG_NXTHDR(&header, c)) {
        tpacket_auxdata aux{};
        if (c->cmsg_level != SOL_PACKET || c->cmsg_type != PACKET_AUXDATA)
            continue;
        std::memcpy(&aux, CMSG_DATA(c), sizeof aux);
        if ((aux.tp_status & TP_STATUS_VLAN_VALID) != 0)
            return aux;
    }
    return std::nullopt;
}

} // namespace

Port::Port(std::string device) : device_(std::move(device)), buffer_(longest_frame) {
    sockaddr_ll address{};
    address.sll_family = AF_PACKET;
    address.sll_protocol = htons(ETH_P_ALL);
    address.sll_ifindex = static_cast<int>(if_nametoindex(device_.c_str()));
    if (address.sll_ifindex == 0)
        fail("no such device", device_);
    // Of no protocol: it hears nothing before it is bound to its device.
    fd_ = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd_ < 0)
        fail("can't open a packet socket (it takes root) on", device_);
    keep_apart(fd_, device_);
    const int on = 1, bytes = 64 << 20; // frames wait there, for the model is slow
    packet_mreq all{};
    all.mr_ifindex = address.sll_ifindex;
    all.mr_type = PACKET_MR_PROMISC;
    set(fd_, SOL_PACKET, PACKET_AUXDATA, on, device_);
    set(fd_, SOL_PACKET, PACKET_VNET_HDR, on, device_);
    set(fd_, SOL_PACKET, PACKET_IGNORE_OUTGOING, on, device_);
    set(fd_, SOL_PACKET, PACKET_ADD_MEMBERSHIP, all, device_);
    set(fd_, SOL_SOCKET, SO_RCVBUFFORCE, bytes, device_);
    if (bind(fd_, reinterpret_cast<const sockaddr *>(&address), sizeof address) != 0)
        fail("can't bind a packet socket to", device_);
}

Port::~Port() { close(fd_); }

void Port::drop(const std::string &why) {
    dropped_++;
    if (why != said_)
        std::cerr << "olaf-card: " << device_ << ": drops a frame: " << why << std::endl;
    said_ = why;
}

std::optional<Frame> Port::receive() {
    for (;;) {
        LeftToDevice offloads{};
        alignas(cmsghdr) char control[128];
        iovec parts[] = {{.iov_base = &offloads, .iov_len = sizeof offloads},
                         {.iov_base = buffer_.data(), .iov_len = buffer_.size()}};
        msghdr header{};
        header.msg_iov = parts;
        header.msg_iovlen = std::size(parts);
        header.msg_control = control;
        header.msg_controllen = sizeof control;
        const auto got = recvmsg(fd_, &header, MSG_TRUNC);
        if (got < 0 && (errno == EAGAIN || errno == EINTR || errno == ENETDOWN))
            return std::nullopt;
        if (got < 0)
            fail("can't receive from", device_);
        const auto bytes = static_cast<std::size_t>(got) - sizeof offloads;
        if (offloads.gso_type != not_cut || bytes > buffer_.size()) {
            drop("its sender left cutting it to its device; switch that off there: "
                 "ethtool -K DEV tso off gso off tx-udp-segmentation off");
            continue;
        }
        Frame frame(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(bytes));
        if ((offloads.flags & needs_checksum) != 0 &&
            !complete_checksum(frame, offloads.checksum_start, offloads.checksum_offset)) {
            drop("the place of its checksum lies outside it");
            continue;
        }
        if (const auto tag = tag_beside(header); tag && frame.size() >= tag_at) {
            const std::uint16_t both[] = {htons(tag->tp_vlan_tpid), htons(tag->tp_vlan_tci)};
            const auto *first = reinterpret_cast<const std::uint8_t *>(both);
            frame.insert(frame.begin() + tag_at, first, first + sizeof both);
        }
        return frame;
    }
}

bool Port::send(const Frame &frame) {
    LeftToDevice nothing{};
    iovec parts[] = {
        {.iov_base = &nothing, .iov_len = sizeof nothing},
        {.iov_base = const_cast<std::uint8_t *>(frame.data()), .iov_len = frame.size()}};
    msghdr header{};
    header.msg_iov = parts;
    header.msg_iovlen = std::size(parts);
    if (sendmsg(fd_, &header, 0) >= 0)
        return true;
    if (errno == EAGAIN || errno == ENOBUFS || errno == EINTR)
        return false;
    drop(std::string("the device doesn't take it: ") + std::strerror(errno));
    return true;
}

} // namespace olaf::card
