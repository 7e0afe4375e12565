// SPDX-License-Identifier: BSD-2-Clause
#include "tcp_stream.hpp"

#include <cerrno>
#include <utility>

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace olaf::bench {

namespace {

sockaddr_in at(const char *text, std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    inet_pton(AF_INET, text, &address.sin_addr);
    return address;
}

/// No waiting for more to send: an update goes as soon as it is written.
Result<TcpSocket> at_once(TcpSocket socket) {
    const int on = 1;
    if (setsockopt(socket.fd(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0)
        return fail("set TCP_NODELAY of", "TCP socket", errno);
    return socket;
}

} // namespace

TcpSocket &TcpSocket::operator=(TcpSocket &&other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
}

TcpSocket::~TcpSocket() {
    if (fd_ >= 0)
        close(fd_);
}

Result<TcpSocket> TcpSocket::listen(const char *address, std::uint16_t port) {
    TcpSocket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const auto name = at(address, port);
    if (socket.fd() < 0 ||
        bind(socket.fd(), reinterpret_cast<const sockaddr *>(&name), sizeof name) != 0 ||
        ::listen(socket.fd(), 64) != 0)
        return fail("listen on", address, errno);
    return socket;
}

Result<TcpSocket> TcpSocket::connect(const char *address, std::uint16_t port) {
    TcpSocket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const auto name = at(address, port);
    if (socket.fd() < 0 ||
        ::connect(socket.fd(), reinterpret_cast<const sockaddr *>(&name), sizeof name) != 0)
        return fail("connect to", address, errno);
    return at_once(std::move(socket));
}

Result<TcpSocket> TcpSocket::accept() const {
    TcpSocket socket(::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC));
    if (socket.fd() < 0)
        return fail("accept a connection on", "TCP socket", errno);
    return at_once(std::move(socket));
}

bool TcpSocket::send(const std::uint8_t *bytes, std::size_t size, int flags) const {
    while (size > 0) {
        const auto sent = ::send(fd_, bytes, size, MSG_NOSIGNAL | flags);
        if (sent <= 0)
            return false;
        bytes += sent;
        size -= static_cast<std::size_t>(sent);
    }
    return true;
}

std::uint64_t TcpSocket::repeated() const {
    tcp_info info{};
    socklen_t size = sizeof info;
    getsockopt(fd_, IPPROTO_TCP, TCP_INFO, &info, &size);
    return info.tcpi_total_retrans;
}

bool TcpReader::fill(int fd, int flags) {
    const auto got = recv(fd, &buffer_[held_], capacity - held_, flags);
    if (got > 0)
        held_ += static_cast<std::size_t>(got);
    return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}

TcpAggregator::TcpAggregator(std::vector<TcpSocket> workers, TcpSocket parent, Accumulators sums)
    : workers_(std::move(workers)), readers_(workers_.size(), TcpReader(sums.bytes())),
      parent_(std::move(parent)), sums_(std::move(sums)) {}

void TcpAggregator::poll() {
    std::vector<pollfd> wait;
    for (const auto &worker : workers_)
        wait.push_back({.fd = worker.fd(), .events = POLLIN, .revents = 0});
    ::poll(wait.data(), wait.size(), 20);
    for (std::size_t i = 0; i < workers_.size(); ++i) {
        if (!(wait[i].revents & POLLIN))
            continue;
        readers_[i].read(workers_[i].fd(), MSG_DONTWAIT, [this](const std::uint8_t *message) {
            const auto *sum = sums_.add(message);
            if (!sum)
                return;
            const auto *bytes = reinterpret_cast<const std::uint8_t *>(sum);
            ready_.insert(ready_.end(), bytes, bytes + sums_.bytes());
        });
    }
    // A parent that has gone has been told of by what doesn't arrive there.
    if (!ready_.empty() && parent_.send(ready_.data(), ready_.size()))
        ready_.clear();
}

} // namespace olaf::bench
