// SPDX-License-Identifier: BSD-2-Clause
#include "tcp.hpp"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstring>
#include <future>
#include <random>
#include <stdexcept>

#include "netns.hpp"

namespace olaf::test {
namespace {

struct Socket {
    int fd;
    explicit Socket(int opened) : fd(opened) {
        const timeval limit{.tv_sec = patience.count(), .tv_usec = 0};
        if (fd < 0)
            throw std::runtime_error(std::string("TCP: ") + std::strerror(errno));
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    }
    Socket(const Socket &) = delete;
    ~Socket() { close(fd); }
};

Socket open_in(const Netns &netns, int family) {
    const Inside inside(netns);
    return Socket(socket(family == 4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
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
    sockaddr_storage storage{};
    auto *four = reinterpret_cast<sockaddr_in *>(&storage);
    auto *six = reinterpret_cast<sockaddr_in6 *>(&storage);
    const bool is_four = inet_pton(AF_INET, address.address.c_str(), &four->sin_addr) == 1;
    if (!is_four)
        inet_pton(AF_INET6, address.address.c_str(), &six->sin6_addr);
    storage.ss_family = is_four ? AF_INET : AF_INET6;
    (is_four ? four->sin_port : six->sin6_port) = htons(address.port);
    const socklen_t size = is_four ? sizeof *four : sizeof *six;
    auto *name = reinterpret_cast<sockaddr *>(&storage);

    const Socket listener = open_in(server, is_four ? 4 : 6);
    const int on = 1;
    setsockopt(listener.fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(listener.fd, name, size) != 0 || listen(listener.fd, 1) != 0)
        throw std::runtime_error(std::string("TCP listen: ") + std::strerror(errno));
    auto received = std::async(std::launch::async, [&] {
        const Socket accepted(accept(listener.fd, nullptr, nullptr));
        return talk(accepted.fd, back);
    });
    const Socket connected = open_in(client, is_four ? 4 : 6);
    if (connect(connected.fd, name, size) != 0)
        throw std::runtime_error(std::string("TCP connect: ") + std::strerror(errno));
    Exchanged exchanged;
    exchanged.back = talk(connected.fd, there);
    exchanged.there = received.get();
    return exchanged;
}

} // namespace olaf::test
