// SPDX-License-Identifier: BSD-2-Clause
#include "udp_socket.hpp"

#include <arpa/inet.h>
#include <netinet/udp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <stdexcept>

#include "netns.hpp"

namespace olaf::test {
namespace {

struct SocketAddress {
    sockaddr_storage storage{};
    socklen_t size = sizeof(sockaddr_storage);
    [[nodiscard]] sockaddr *data() { return reinterpret_cast<sockaddr *>(&storage); }
};

SocketAddress to_socket(const Peer &peer) {
    SocketAddress out;
    auto *four = reinterpret_cast<sockaddr_in *>(&out.storage);
    auto *six = reinterpret_cast<sockaddr_in6 *>(&out.storage);
    if (inet_pton(AF_INET, peer.address.c_str(), &four->sin_addr) == 1) {
        four->sin_family = AF_INET;
        four->sin_port = htons(peer.port);
        out.size = sizeof *four;
    } else if (inet_pton(AF_INET6, peer.address.c_str(), &six->sin6_addr) == 1) {
        six->sin6_family = AF_INET6;
        six->sin6_port = htons(peer.port);
        out.size = sizeof *six;
    } else {
        throw std::runtime_error("no address: " + peer.address);
    }
    return out;
}

Peer to_peer(const sockaddr_storage &storage) {
    char text[INET6_ADDRSTRLEN] = {};
    if (storage.ss_family == AF_INET) {
        const auto *four = reinterpret_cast<const sockaddr_in *>(&storage);
        inet_ntop(AF_INET, &four->sin_addr, text, sizeof text);
        return {.address = text, .port = ntohs(four->sin_port)};
    }
    const auto *six = reinterpret_cast<const sockaddr_in6 *>(&storage);
    inet_ntop(AF_INET6, &six->sin6_addr, text, sizeof text);
    return {.address = text, .port = ntohs(six->sin6_port)};
}

void set(int fd, int level, int option, int value) {
    if (setsockopt(fd, level, option, &value, sizeof value) != 0)
        throw std::runtime_error("setsockopt " + std::to_string(option));
}

} // namespace

UdpSocket::UdpSocket(const Netns &netns, const Peer &local)
    : family_(local.address.find(':') == std::string::npos ? 4 : 6) {
    auto address = to_socket(local);
    const Inside inside(netns);
    fd_ = socket(address.storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd_ < 0 || bind(fd_, address.data(), address.size) != 0)
        throw std::runtime_error("cannot bind " + local.address + ": " + std::strerror(errno));
    set(fd_, SOL_SOCKET, SO_RCVBUFFORCE, 128 << 20);
    set(fd_, SOL_SOCKET, SO_TIMESTAMPNS, 1);
    if (address.storage.ss_family == AF_INET)
        set(fd_, IPPROTO_IP, IP_RECVTTL, 1);
    else
        set(fd_, IPPROTO_IPV6, IPV6_RECVHOPLIMIT, 1);
}

UdpSocket::~UdpSocket() {
    close(fd_);
}

void UdpSocket::send(const Bytes &payload, const Peer &to) const {
    auto address = to_socket(to);
    const auto sent = sendto(fd_, payload.data(), payload.size(), 0, address.data(), address.size);
    if (sent != static_cast<ssize_t>(payload.size()))
        throw std::runtime_error(std::string("cannot send: ") + std::strerror(errno));
}

void UdpSocket::send_uncut(const Update &update, unsigned times, const Peer &to) const {
    const auto one = message(update);
    Bytes all;
    for (unsigned i = 0; i < times; i++)
        all.insert(all.end(), one.begin(), one.end());
    for (const int bytes : {static_cast<int>(one.size()), 0}) {
        if (setsockopt(fd_, IPPROTO_UDP, UDP_SEGMENT, &bytes, sizeof bytes) != 0)
            throw std::runtime_error(std::string("cannot set UDP_SEGMENT: ") + std::strerror(errno));
        if (bytes != 0)
            send(all, to);
    }
}

void UdpSocket::limit_room(int bytes) const {
    set(fd_, SOL_SOCKET, SO_RCVBUF, bytes);
}

std::optional<Datagram> UdpSocket::poll(std::chrono::milliseconds time) const {
    pollfd ready{.fd = fd_, .events = POLLIN, .revents = 0};
    if (::poll(&ready, 1, static_cast<int>(time.count())) <= 0)
        return std::nullopt;
    Datagram datagram;
    datagram.payload.resize(65536);
    sockaddr_storage source{};
    alignas(cmsghdr) char control[256];
    iovec io{.iov_base = datagram.payload.data(), .iov_len = datagram.payload.size()};
    msghdr header{};
    header.msg_name = &source;
    header.msg_namelen = sizeof source;
    header.msg_iov = &io;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof control;
    const auto got = recvmsg(fd_, &header, MSG_DONTWAIT);
    if (got < 0)
        return std::nullopt;
    datagram.payload.resize(static_cast<std::size_t>(got));
    datagram.source = to_peer(source);
    for (auto *c = CMSG_FIRSTHDR(&header); c != nullptr; c = CMSG_NXTHDR(&header, c)) {
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_TIMESTAMPNS) {
            timespec at{};
            std::memcpy(&at, CMSG_DATA(c), sizeof at);
            datagram.timestamp_ns = at.tv_sec * 1'000'000'000LL + at.tv_nsec;
        } else if ((c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TTL) ||
                   (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_HOPLIMIT)) {
            std::memcpy(&datagram.ttl, CMSG_DATA(c), sizeof datagram.ttl);
        }
    }
    return datagram;
}

Datagram UdpSocket::receive() const {
    // `attach --upstream` knocks with an empty datagram, so that the neighbour is known.
    while (auto datagram = poll(patience))
        if (!datagram->payload.empty())
            return std::move(*datagram);
    throw WaitRanOut("a datagram");
}

std::uint16_t UdpSocket::port() const {
    SocketAddress local;
    getsockname(fd_, local.data(), &local.size);
    return to_peer(local.storage).port;
}

Update Datagram::update() const {
    // The strict parser wants a frame: any will do.
    std::string why;
    auto parsed = parse_update(ipv4().carrying(payload).bytes, &why);
    if (!parsed)
        throw std::runtime_error("received no right update: " + why);
    return std::move(parsed->update);
}

Ack Datagram::ack() const {
    std::string why;
    auto parsed = parse_ack(answer(ipv4()).carrying(payload).bytes, &why);
    if (!parsed)
        throw std::runtime_error("received no right ACK: " + why);
    return std::move(parsed->ack);
}

} // namespace olaf::test
