// SPDX-License-Identifier: BSD-2-Clause
#include "sockets.hpp"

#include <arpa/inet.h>
#include <netinet/udp.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <cstring>
#include <future>
#include <random>
#include <stdexcept>
#include <thread>

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
        throw std::runtime_error("setsockopt " + std::to_string(option) + ": " +
                                 std::strerror(errno));
}

} // namespace

UdpSocket::UdpSocket(const Netns &netns, const Peer &local)
    : family_(local.address.find(':') == std::string::npos ? 4 : 6) {
    auto address = to_socket(local);
    const Inside inside(netns);
    fd_ = Fd(socket(address.storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (!fd_ || bind(fd_.get(), address.data(), address.size) != 0)
        throw std::runtime_error("cannot bind " + local.address + ": " + std::strerror(errno));
    set(fd_.get(), SOL_SOCKET, SO_RCVBUFFORCE, 128 << 20);
    set(fd_.get(), SOL_SOCKET, SO_TIMESTAMPNS, 1);
    if (address.storage.ss_family == AF_INET)
        set(fd_.get(), IPPROTO_IP, IP_RECVTTL, 1);
    else
        set(fd_.get(), IPPROTO_IPV6, IPV6_RECVHOPLIMIT, 1);
}

void UdpSocket::send(const Bytes &payload, const Peer &to) const {
    auto address = to_socket(to);
    const auto sent =
        sendto(fd_.get(), payload.data(), payload.size(), 0, address.data(), address.size);
    if (sent != static_cast<ssize_t>(payload.size()))
        throw std::runtime_error(std::string("cannot send: ") + std::strerror(errno));
}

void UdpSocket::send(const Update &update, const Peer &to) const {
    const auto payload = message(update);
    auto address = to_socket(to);
    const auto tell_errors = [&](int on) {
        if (family_ == 4)
            set(fd_.get(), IPPROTO_IP, IP_RECVERR, on);
        else
            set(fd_.get(), IPPROTO_IPV6, IPV6_RECVERR, on);
    };
    // Only a socket that asks for errors is told that the peer's ring was full and the frame is lost.
    // It is told ICMP errors of earlier frames too, in place of sending; no test looks for these.
    tell_errors(1);
    const auto deadline = std::chrono::steady_clock::now() + patience;
    ssize_t sent = -1;
    int error = ENOBUFS;
    while (sent < 0 && error != EMSGSIZE && std::chrono::steady_clock::now() < deadline) {
        sent = sendto(fd_.get(), payload.data(), payload.size(), 0, address.data(), address.size);
        error = errno;
        if (sent < 0)
            std::this_thread::yield();
    }
    tell_errors(0);
    int pending = 0;
    socklen_t size = sizeof pending;
    getsockopt(fd_.get(), SOL_SOCKET, SO_ERROR, &pending, &size); // and forgets it
    if (sent != static_cast<ssize_t>(payload.size()))
        throw std::runtime_error(std::string("cannot send: ") + std::strerror(error));
}

void UdpSocket::send_uncut(const Update &update, unsigned times, const Peer &to) const {
    const auto one = message(update);
    Bytes all;
    for (unsigned i = 0; i < times; i++)
        all.insert(all.end(), one.begin(), one.end());
    for (const int bytes : {static_cast<int>(one.size()), 0}) {
        set(fd_.get(), IPPROTO_UDP, UDP_SEGMENT, bytes);
        if (bytes != 0)
            send(all, to);
    }
}

void UdpSocket::limit_room(int bytes) const {
    set(fd_.get(), SOL_SOCKET, SO_RCVBUF, bytes);
}

std::optional<Datagram> UdpSocket::poll(std::chrono::milliseconds time) const {
    Datagram datagram;
    sockaddr_storage source{};
    auto payload = receive_message(fd_.get(), time, source, [&](const cmsghdr &c) {
        if (c.cmsg_level == SOL_SOCKET && c.cmsg_type == SCM_TIMESTAMPNS) {
            timespec at{};
            std::memcpy(&at, CMSG_DATA(&c), sizeof at);
            datagram.timestamp_ns = at.tv_sec * 1'000'000'000LL + at.tv_nsec;
        } else if ((c.cmsg_level == IPPROTO_IP && c.cmsg_type == IP_TTL) ||
                   (c.cmsg_level == IPPROTO_IPV6 && c.cmsg_type == IPV6_HOPLIMIT)) {
            std::memcpy(&datagram.ttl, CMSG_DATA(&c), sizeof datagram.ttl);
        }
    });
    if (!payload)
        return std::nullopt;
    datagram.payload = std::move(*payload);
    datagram.source = to_peer(source);
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
    getsockname(fd_.get(), local.data(), &local.size);
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

// ---- frames ----

PacketSocket::PacketSocket(const Netns &netns, const std::string &device)
    : PacketSocket(Inside(netns), netns.ifindex(device)) {}

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
        int sent = -1;
        await([&] { return (sent = sendmmsg(fd_, headers, static_cast<unsigned>(now), 0)) > 0 ||
                           (errno != ENOBUFS && errno != EAGAIN); },
              [] { return "room in the ring of the peer"; }, std::chrono::milliseconds(0));
        if (sent < 0)
            throw std::runtime_error(std::string("cannot send frames: ") + std::strerror(errno));
        frames = frames.subspan(static_cast<std::size_t>(sent));
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

// ---- TCP ----

namespace {

Fd with_patience(int socket) {
    const timeval limit{.tv_sec = patience.count(), .tv_usec = 0};
    if (socket < 0)
        throw std::runtime_error(std::string("TCP: ") + std::strerror(errno));
    setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    return Fd(socket);
}

Fd open_in(const Netns &netns, int family) {
    const Inside inside(netns);
    return with_patience(socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

/// Sends all and reads to the other's end, at the same time.
Bytes talk(int fd, const Bytes &say) {
    auto sent = std::async(std::launch::async, [&] {
        for (std::size_t at = 0; at < say.size();) {
            const auto n = send(fd, say.data() + at, say.size() - at, MSG_NOSIGNAL);
            if (n <= 0)
                return false;
            at += static_cast<std::size_t>(n);
        }
        return shutdown(fd, SHUT_WR) == 0;
    });
    Bytes heard;
    std::uint8_t buffer[65536];
    ssize_t n;
    while ((n = recv(fd, buffer, sizeof buffer, 0)) > 0)
        heard.insert(heard.end(), buffer, buffer + n);
    if (!sent.get() || n < 0)
        throw std::runtime_error("TCP broke after " + std::to_string(heard.size()) + " bytes");
    return heard;
}

} // namespace

Bytes random_bytes(std::size_t count, unsigned seed) {
    std::mt19937_64 random(seed);
    Bytes bytes(count);
    for (auto &byte : bytes)
        byte = static_cast<std::uint8_t>(random());
    return bytes;
}

Exchanged exchange_by_tcp(const Netns &client, const Netns &server, const Peer &address,
                          const Bytes &there, const Bytes &back) {
    auto name = to_socket(address);
    const Fd listener = open_in(server, name.storage.ss_family);
    const int on = 1;
    setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(listener.get(), name.data(), name.size) != 0 || listen(listener.get(), 1) != 0)
        throw std::runtime_error(std::string("TCP listen: ") + std::strerror(errno));
    auto received = std::async(std::launch::async, [&] {
        const Fd accepted = with_patience(accept(listener.get(), nullptr, nullptr));
        return talk(accepted.get(), back);
    });
    const Fd connected = open_in(client, name.storage.ss_family);
    if (connect(connected.get(), name.data(), name.size) != 0)
        throw std::runtime_error(std::string("TCP connect: ") + std::strerror(errno));
    Exchanged exchanged;
    exchanged.back = talk(connected.get(), there);
    exchanged.there = received.get();
    return exchanged;
}

} // namespace olaf::test
