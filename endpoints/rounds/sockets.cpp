// SPDX-License-Identifier: BSD-2-Clause
#include "endpoints/rounds/sockets.hpp"

#include <cerrno>
#include <cstring>
#include <memory>

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <olaf/try.hpp>

namespace olaf {
namespace {

bool is_multicast(const Address &address) {
    if (address.is_ipv6())
        return IN6_IS_ADDR_MULTICAST(
            &reinterpret_cast<const sockaddr_in6 *>(address.data())->sin6_addr);
    const auto *v4 = reinterpret_cast<const sockaddr_in *>(address.data());
    return address.family() == AF_INET && IN_MULTICAST(ntohl(v4->sin_addr.s_addr));
}

bool same_host(const sockaddr &a, const sockaddr &b) {
    if (a.sa_family != b.sa_family)
        return false;
    if (a.sa_family == AF_INET)
        return reinterpret_cast<const sockaddr_in &>(a).sin_addr.s_addr ==
               reinterpret_cast<const sockaddr_in &>(b).sin_addr.s_addr;
    return a.sa_family == AF_INET6 &&
           std::memcmp(&reinterpret_cast<const sockaddr_in6 &>(a).sin6_addr,
                       &reinterpret_cast<const sockaddr_in6 &>(b).sin6_addr, sizeof(in6_addr)) == 0;
}

// The device that has the address; 0: none has.
Result<unsigned> device_of(const Address &local) {
    ifaddrs *list = nullptr;
    if (getifaddrs(&list) != 0)
        return fail("list addresses of", "this host", errno);
    const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(list, &freeifaddrs);
    for (const ifaddrs *each = list; each != nullptr; each = each->ifa_next)
        if (each->ifa_addr != nullptr && same_host(*each->ifa_addr, *local.data()))
            return if_nametoindex(each->ifa_name);
    return fail("join the group of results by", local.text(), 0,
                "take the group out, or give this host that address",
                "no device has the address that the node is reached from");
}

Result<void> check(const Address &node, const Address &group) {
    if (!is_multicast(group))
        return fail("join the group of results", group.text(), 0,
                    "give the GROUP of olaf job set --fanout multicast=GROUP",
                    "it isn't a multicast address");
    if (group.family() != node.family())
        return fail("join the group of results", group.text(), 0, "give the node's other address",
                    "it isn't of the IP version of the node, " + node.text());
    return {};
}

Result<int> epoll_of(const UdpSocket &one, const UdpSocket &other) {
    const int either = epoll_create1(EPOLL_CLOEXEC);
    if (either < 0)
        return fail("watch", "the node's and the group's socket", errno);
    for (const UdpSocket *socket : {&one, &other}) {
        epoll_event event = {.events = EPOLLIN, .data = {.fd = socket->fd()}};
        if (epoll_ctl(either, EPOLL_CTL_ADD, socket->fd(), &event) == 0)
            continue;
        const int code = errno;
        ::close(either);
        return fail("watch", "the node's and the group's socket", code);
    }
    return either;
}

} // namespace

Result<RoundSockets> RoundSockets::open(const Address &node, const Address &group,
                                        UdpSocket::Buffers buffers) {
    if (group.family() != AF_UNSPEC)
        OLAF_TRY(check(node, group));
    UdpSocket own = OLAF_TRY(UdpSocket::connected_to(node, buffers));
    if (group.family() == AF_UNSPEC)
        return RoundSockets(std::move(own), std::nullopt, -1);
    const Address local = OLAF_TRY(own.local());
    const unsigned device = OLAF_TRY(device_of(local));
    UdpSocket member = OLAF_TRY(UdpSocket::member_of(group, device, node, buffers));
    const int either = OLAF_TRY(epoll_of(own, member));
    return RoundSockets(std::move(own), std::move(member), either);
}

RoundSockets::~RoundSockets() {
    if (either_ >= 0)
        ::close(either_);
}

} // namespace olaf
