// SPDX-License-Identifier: BSD-2-Clause
#include "endpoints/wire/udp_socket.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>

#include <linux/errqueue.h>
#include <linux/sockios.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <olaf/try.hpp>

#include "endpoints/wire/asked.hpp"

namespace olaf {
namespace {

using Clock = std::chrono::steady_clock;

bool set_int(int fd, int level, int option, int value) {
    return setsockopt(fd, level, option, &value, sizeof(value)) == 0;
}

// ppoll() that a signal doesn't cut short. False when the time is over.
Result<bool> ready_before(int fd, short events, Clock::time_point deadline) {
    for (;;) {
        const auto left = std::max(std::chrono::nanoseconds(0), deadline - Clock::now());
        const auto seconds = std::chrono::floor<std::chrono::seconds>(left);
        const timespec timeout = {.tv_sec = seconds.count(), .tv_nsec = (left - seconds).count()};
        pollfd poll = {.fd = fd, .events = events, .revents = 0};
        const int ready = ppoll(&poll, 1, &timeout, nullptr);
        if (ready >= 0)
            return ready > 0;
        if (errno != EINTR)
            return fail("wait for socket", {}, errno);
    }
}

// A deadline that saturates: callers may pass nanoseconds::max().
Clock::time_point deadline_after(std::chrono::nanoseconds timeout) {
    const auto now = Clock::now();
    return timeout > Clock::time_point::max() - now ? Clock::time_point::max() : now + timeout;
}

// What a peer or the network did to an earlier message.
bool is_icmp_error(int code) {
    return code == ECONNREFUSED || code == EHOSTUNREACH || code == ENETUNREACH ||
           code == EHOSTDOWN || code == EPROTO || code == ENOPROTOOPT || code == EACCES ||
           code == EMSGSIZE || code == ENONET || code == EOPNOTSUPP;
}

bool says_prohibited(const sock_extended_err &error) {
    if (error.ee_origin == SO_EE_ORIGIN_ICMP6)
        return error.ee_type == ICMP6_DST_UNREACH && error.ee_code == ICMP6_DST_UNREACH_ADMIN;
    return error.ee_type == ICMP_DEST_UNREACH &&
           (error.ee_code == ICMP_NET_ANO || error.ee_code == ICMP_HOST_ANO ||
            error.ee_code == ICMP_PKT_FILTERED);
}

// Of a message of the error queue: empty if it's no ICMP.
std::optional<Refusal> refusal_in(msghdr &message) {
    for (cmsghdr *part = CMSG_FIRSTHDR(&message); part != nullptr;
         part = CMSG_NXTHDR(&message, part)) {
        if (!(part->cmsg_level == IPPROTO_IP && part->cmsg_type == IP_RECVERR) &&
            !(part->cmsg_level == IPPROTO_IPV6 && part->cmsg_type == IPV6_RECVERR))
            continue;
        auto *const error = reinterpret_cast<sock_extended_err *>(CMSG_DATA(part));
        if (error->ee_origin != SO_EE_ORIGIN_ICMP && error->ee_origin != SO_EE_ORIGIN_ICMP6)
            return {};
        const sockaddr *const from = SO_EE_OFFENDER(error);
        sockaddr_storage storage{};
        std::memcpy(&storage, from,
                    from->sa_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in));
        return Refusal{.code = static_cast<int>(error->ee_errno),
                       .is_prohibited = says_prohibited(*error),
                       .from = Address::from(storage)};
    }
    return {};
}

} // namespace

Result<UdpSocket> UdpSocket::open(const Address &address, Buffers buffers) {
    const int fd = ::socket(address.family(), SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return fail("open UDP socket for", address.text(), errno);
    UdpSocket socket(fd);
    // Best effort: without CAP_NET_ADMIN the kernel caps them, which is no failure.
    if (!set_int(fd, SOL_SOCKET, SO_RCVBUFFORCE, buffers.receive))
        set_int(fd, SOL_SOCKET, SO_RCVBUF, buffers.receive);
    if (!set_int(fd, SOL_SOCKET, SO_SNDBUFFORCE, buffers.send))
        set_int(fd, SOL_SOCKET, SO_SNDBUF, buffers.send);
    // A queue can't fold fragments, so never make any: too large a message shall fail
    // with EMSGSIZE. PROBE rather than DO: a forged ICMP must not shrink the path MTU.
    const bool whole = address.is_ipv6()
                           ? set_int(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_PROBE)
                           : set_int(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE);
    if (!whole)
        return fail("forbid fragments to", address.text(), errno);
    return socket;
}

Result<UdpSocket> UdpSocket::connected_to(const Address &peer, Buffers buffers) {
    UdpSocket socket = OLAF_TRY(open(peer, buffers));
    if (::connect(socket.fd_, peer.data(), peer.size()) != 0)
        return fail("connect to", peer.text(), errno);
    return socket;
}

Result<UdpSocket> UdpSocket::bound_to(const Address &local, Buffers buffers) {
    UdpSocket socket = OLAF_TRY(open(local, buffers));
    // [::] shall serve IPv4 workers too, whatever net.ipv6.bindv6only says.
    if (local.is_ipv6() && !set_int(socket.fd_, IPPROTO_IPV6, IPV6_V6ONLY, 0))
        return fail("accept IPv4 on", local.text(), errno);
    if (::bind(socket.fd_, local.data(), local.size()) != 0)
        return fail("bind to", local.text(), errno,
                    errno == EADDRINUSE ? "is another parameter server running?" : "");
    socket.tells_asked_ = is_any(local) && hear_asked(socket.fd_, local.is_ipv6());
    return socket;
}

Result<UdpSocket> UdpSocket::member_of(const Address &group, unsigned device, const Address &peer,
                                       Buffers buffers) {
    UdpSocket socket = OLAF_TRY(open(group, buffers));
    const int fd = socket.fd_;
    sockaddr_storage name{};
    std::memcpy(&name, group.data(), group.size());
    int joined = 0;
    if (group.is_ipv6()) {
        auto &v6 = reinterpret_cast<sockaddr_in6 &>(name);
        v6.sin6_scope_id = device; // a link's group is bound to one
        const ipv6_mreq wanted = {.ipv6mr_multiaddr = v6.sin6_addr, .ipv6mr_interface = device};
        joined = setsockopt(fd, IPPROTO_IPV6, IPV6_ADD_MEMBERSHIP, &wanted, sizeof(wanted));
    } else {
        const auto &v4 = reinterpret_cast<const sockaddr_in &>(name);
        const ip_mreqn wanted = {.imr_multiaddr = v4.sin_addr,
                                 .imr_address = {},
                                 .imr_ifindex = static_cast<int>(device)};
        joined = setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &wanted, sizeof(wanted));
    }
    if (joined != 0)
        return fail("join group", group.text(), errno);
    // Further workers of this host have the same name.
    if (!set_int(fd, SOL_SOCKET, SO_REUSEADDR, 1) ||
        ::bind(fd, reinterpret_cast<const sockaddr *>(&name), group.size()) != 0)
        return fail("bind to group", group.text(), errno);
    // The kernel keeps out what others send to the group.
    if (::connect(fd, peer.data(), peer.size()) != 0)
        return fail("connect to", peer.text(), errno);
    return socket;
}

UdpSocket::~UdpSocket() {
    if (fd_ >= 0)
        ::close(fd_);
}

Result<std::size_t> UdpSocket::mtu() const {
    const Address address = OLAF_TRY(local());
    int bytes = 0;
    socklen_t size = sizeof bytes;
    const int got = address.is_ipv6() ? getsockopt(fd_, IPPROTO_IPV6, IPV6_MTU, &bytes, &size)
                                      : getsockopt(fd_, IPPROTO_IP, IP_MTU, &bytes, &size);
    if (got != 0)
        return fail("read the MTU of the way from", address.text(), errno);
    return static_cast<std::size_t>(bytes);
}

std::optional<std::size_t> UdpSocket::told_mtu() const {
    const auto bytes = told_too_long_ ? mtu() : Result<std::size_t>(0);
    return bytes && *bytes != 0 ? std::optional(*bytes) : std::nullopt;
}

bool UdpSocket::holds_unsent() const {
    int bytes = 0;
    return ioctl(fd_, SIOCOUTQ, &bytes) == 0 && bytes > 0;
}

Result<Address> UdpSocket::local() const {
    sockaddr_storage storage{};
    socklen_t size = sizeof(storage);
    if (getsockname(fd_, reinterpret_cast<sockaddr *>(&storage), &size) != 0)
        return fail("read address of socket", {}, errno);
    return Address::from(storage);
}

Result<bool> is_readable_within(int fd, std::chrono::nanoseconds timeout) {
    return ready_before(fd, POLLIN, deadline_after(timeout));
}

Result<bool> UdpSocket::readable_within(std::chrono::nanoseconds timeout) const {
    return is_readable_within(fd_, timeout);
}

Result<std::size_t> UdpSocket::receive(mmsghdr *messages, std::size_t count) const {
    for (;;) {
        const int got =
            recvmmsg(fd_, messages, static_cast<unsigned>(count), MSG_DONTWAIT, nullptr);
        if (got >= 0)
            return static_cast<std::size_t>(got);
        told_too_long_ |= errno == EMSGSIZE;
        if (errno == EAGAIN || is_icmp_error(errno))
            return 0;
        if (errno != EINTR)
            return fail("receive from socket", {}, errno);
    }
}

void UdpSocket::hear_refusals(bool hears) const {
    const auto address = local();
    if (address && address->is_ipv6())
        set_int(fd_, IPPROTO_IPV6, IPV6_RECVERR, hears ? 1 : 0);
    else
        set_int(fd_, IPPROTO_IP, IP_RECVERR, hears ? 1 : 0);
}

std::optional<Refusal> UdpSocket::refusal() const {
    std::optional<Refusal> newest;
    for (;;) {
        alignas(cmsghdr) std::array<char, 512> control{};
        msghdr message{};
        message.msg_control = control.data();
        message.msg_controllen = control.size();
        if (::recvmsg(fd_, &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) {
            if (errno == EINTR)
                continue;
            return newest;
        }
        if (const auto refusal = refusal_in(message))
            newest = refusal;
    }
}

UdpSocket::Sent UdpSocket::send(mmsghdr *messages, std::size_t count,
                                std::chrono::nanoseconds patience) const {
    Sent result;
    const auto deadline = deadline_after(patience);
    bool refused_before = false;
    for (std::size_t i = 0; i < count;) {
        const int sent =
            sendmmsg(fd_, messages + i, static_cast<unsigned>(count - i), MSG_DONTWAIT);
        if (sent > 0) {
            result.sent += static_cast<std::size_t>(sent);
            i += static_cast<std::size_t>(sent);
            refused_before = false;
            continue;
        }
        if (errno == EINTR)
            continue;
        const int code = errno;
        told_too_long_ |= code == EMSGSIZE;
        if (code == EAGAIN) {
            const auto ready = ready_before(fd_, POLLOUT, deadline);
            if (ready && *ready)
                continue;
        }
        // On a connected socket this is about an earlier message: try this one again.
        if (is_icmp_error(code) && !std::exchange(refused_before, true))
            continue;
        result.last_errno = code;
        result.unsent++;
        refused_before = false;
        i++;
    }
    return result;
}

} // namespace olaf
