// SPDX-License-Identifier: BSD-2-Clause
#include "frame_socket.hpp"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace olaf::test {

std::optional<Bytes> receive_message(int socket, std::chrono::milliseconds time,
                                     sockaddr_storage &source,
                                     const std::function<void(const cmsghdr &)> &beside) {
    pollfd ready{.fd = socket, .events = POLLIN, .revents = 0};
    if (::poll(&ready, 1, static_cast<int>(time.count())) <= 0)
        return std::nullopt;
    Bytes bytes(65536);
    alignas(cmsghdr) char control[256];
    iovec io{.iov_base = bytes.data(), .iov_len = bytes.size()};
    msghdr header{};
    header.msg_name = &source;
    header.msg_namelen = sizeof source;
    header.msg_iov = &io;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof control;
    const auto got = recvmsg(socket, &header, MSG_DONTWAIT);
    if (got < 0)
        return std::nullopt;
    bytes.resize(static_cast<std::size_t>(got));
    for (auto *c = CMSG_FIRSTHDR(&header); c != nullptr; c = CMSG_NXTHDR(&header, c))
        beside(*c);
    return bytes;
}

// A socket that is made with a protocol hears every device until it is bound, and its filter comes
// later.
FrameSocket::FrameSocket(std::uint32_t ifindex, const sock_fprog *filter)
    : fd_(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0)) {
    sockaddr_ll address{};
    address.sll_family = AF_PACKET;
    address.sll_protocol = htons(ETH_P_ALL);
    address.sll_ifindex = static_cast<int>(ifindex);
    const int on = 1, room = 64 << 20; // for a burst of hundreds
    if (fd_ < 0 || setsockopt(fd_, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room) != 0 ||
        setsockopt(fd_, SOL_PACKET, PACKET_AUXDATA, &on, sizeof on) != 0 ||
        (filter && setsockopt(fd_, SOL_SOCKET, SO_ATTACH_FILTER, filter, sizeof *filter) != 0) ||
        bind(fd_, reinterpret_cast<sockaddr *>(&address), sizeof address) != 0)
        throw std::system_error(errno, std::generic_category(), "packet socket");
}

FrameSocket::~FrameSocket() {
    close(fd_);
}

std::optional<Bytes> FrameSocket::poll(std::chrono::milliseconds time) const {
    const auto deadline = std::chrono::steady_clock::now() + time;
    for (;;) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
            deadline - std::chrono::steady_clock::now());
        sockaddr_storage source{};
        Bytes tag; // the kernel keeps the outermost one beside the frame
        auto bytes = receive_message(
            fd_, std::max(left, std::chrono::milliseconds(0)), source, [&](const cmsghdr &control) {
                if (control.cmsg_level != SOL_PACKET || control.cmsg_type != PACKET_AUXDATA)
                    return;
                tpacket_auxdata aux{};
                std::memcpy(&aux, CMSG_DATA(&control), sizeof aux);
                if ((aux.tp_status & TP_STATUS_VLAN_VALID) == 0)
                    return;
                put_be(tag, aux.tp_vlan_tpid, 2);
                put_be(tag, aux.tp_vlan_tci, 2);
            });
        if (!bytes)
            return std::nullopt;
        if (reinterpret_cast<const sockaddr_ll &>(source).sll_pkttype == PACKET_OUTGOING)
            continue;
        bytes->insert(bytes->begin() + 12, tag.begin(), tag.end());
        return bytes;
    }
}

} // namespace olaf::test
