// SPDX-License-Identifier: BSD-2-Clause
#include "packet_socket.hpp"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "netns.hpp"

namespace olaf::test {

PacketSocket::PacketSocket(const Netns &netns, const std::string &device) {
    const Inside inside(netns);
    fd_ = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0); // deaf until it is bound to its device
    sockaddr_ll address{};
    address.sll_family = AF_PACKET;
    address.sll_protocol = htons(ETH_P_ALL);
    address.sll_ifindex = netns.ifindex(device);
    const int on = 1, bytes = 64 << 20;
    if (fd_ < 0 || bind(fd_, reinterpret_cast<sockaddr *>(&address), sizeof address) != 0 ||
        setsockopt(fd_, SOL_PACKET, PACKET_AUXDATA, &on, sizeof on) != 0 ||
        setsockopt(fd_, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes) != 0)
        throw std::runtime_error("cannot open a packet socket on " + device);
}

PacketSocket::~PacketSocket() {
    close(fd_);
}

void PacketSocket::send(const Bytes &bytes) const {
    if (::send(fd_, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
        throw std::runtime_error(std::string("cannot send a frame: ") + std::strerror(errno));
}

void PacketSocket::send(std::span<const Frame> frames) const {
    constexpr std::size_t batch = 64;
    while (!frames.empty()) {
        const auto now = std::min(batch, frames.size());
        iovec io[batch];
        mmsghdr headers[batch] = {};
        for (std::size_t i = 0; i < now; i++) {
            io[i] = {.iov_base = const_cast<std::uint8_t *>(frames[i].bytes.data()),
                     .iov_len = frames[i].size()};
            headers[i].msg_hdr.msg_iov = &io[i];
            headers[i].msg_hdr.msg_iovlen = 1;
        }
        const int sent = sendmmsg(fd_, headers, static_cast<unsigned>(now), 0);
        if (sent > 0)
            frames = frames.subspan(static_cast<std::size_t>(sent));
        else if (errno != ENOBUFS && errno != EAGAIN)
            throw std::runtime_error(std::string("cannot send frames: ") + std::strerror(errno));
    }
}

std::optional<Bytes> PacketSocket::poll(std::chrono::milliseconds time) const {
    const auto deadline = std::chrono::steady_clock::now() + time;
    for (;;) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
            deadline - std::chrono::steady_clock::now());
        pollfd ready{.fd = fd_, .events = POLLIN, .revents = 0};
        if (::poll(&ready, 1, static_cast<int>(std::max<long>(left.count(), 0))) <= 0)
            return std::nullopt;
        Bytes bytes(65536);
        sockaddr_ll source{};
        alignas(cmsghdr) char control[128];
        iovec io{.iov_base = bytes.data(), .iov_len = bytes.size()};
        msghdr header{};
        header.msg_name = &source;
        header.msg_namelen = sizeof source;
        header.msg_iov = &io;
        header.msg_iovlen = 1;
        header.msg_control = control;
        header.msg_controllen = sizeof control;
        const auto got = recvmsg(fd_, &header, MSG_DONTWAIT);
        if (got < 0 || source.sll_pkttype == PACKET_OUTGOING)
            continue;
        bytes.resize(static_cast<std::size_t>(got));
        for (auto *c = CMSG_FIRSTHDR(&header); c != nullptr; c = CMSG_NXTHDR(&header, c)) {
            tpacket_auxdata aux{};
            if (c->cmsg_level != SOL_PACKET || c->cmsg_type != PACKET_AUXDATA)
                continue;
            std::memcpy(&aux, CMSG_DATA(c), sizeof aux);
            if ((aux.tp_status & TP_STATUS_VLAN_VALID) == 0)
                continue;
            Bytes tag;
            put_be(tag, aux.tp_vlan_tpid, 2);
            put_be(tag, aux.tp_vlan_tci, 2);
            bytes.insert(bytes.begin() + 12, tag.begin(), tag.end());
        }
        return bytes;
    }
}

Received PacketSocket::receive_update() const {
    std::string why = "nothing was received";
    while (const auto bytes = poll(patience)) {
        if (auto received = parse_update(*bytes, &why))
            return std::move(*received);
        if (why != "not UDP" && why != "not IP" && why != "port")
            throw std::runtime_error("a wrong update: " + why + ": " + hex(*bytes));
    }
    throw WaitRanOut("an update; the last frame: " + why);
}

} // namespace olaf::test
