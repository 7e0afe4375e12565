// SPDX-License-Identifier: BSD-2-Clause
#include "route.hpp"

#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <sys/socket.h>

#include <cstring>
#include <utility>

#include "fd.hpp"
#include "netlink.hpp"
#include "olaf/try.hpp"

namespace olaf {
namespace {

std::size_t bytes_of(const IpAddress &address) {
    return address.family == 4 ? 4 : 16;
}

void read_route(nlmsghdr *answer, std::uint32_t family, Route &route) {
    nlattr *attributes[RTA_MAX + 1] = {};
    if (answer->nlmsg_type != RTM_NEWROUTE ||
        nlmsg_parse(answer, sizeof(rtmsg), attributes, RTA_MAX, nullptr) < 0)
        return;
    const auto *header = static_cast<rtmsg *>(nlmsg_data(answer));
    route.local = header->rtm_type == RTN_LOCAL;
    if (attributes[RTA_OIF])
        route.ifindex = nla_get_u32(attributes[RTA_OIF]);
    for (const auto &[type, into] :
         {std::pair{RTA_PREFSRC, &route.source}, std::pair{RTA_GATEWAY, &route.gateway}})
        if (attributes[type]) {
            into->family = family;
            std::memcpy(into->words_be.data(), nla_data(attributes[type]), bytes_of(*into));
        }
}

/// Asks the kernel for a route by any device, or by one. With RTM_F_FIB_MATCH it answers what
/// stands in its table; without, IPv4 takes any address for a neighbour on a device that is given.
Result<Route> ask(const IpAddress &address, std::uint32_t by_ifindex, unsigned flags) {
    auto netlink = OLAF_TRY(Netlink::open(NETLINK_ROUTE));
    rtmsg header{};
    header.rtm_family = address.family == 4 ? AF_INET : AF_INET6;
    header.rtm_flags = flags;
    header.rtm_dst_len = static_cast<unsigned char>(8 * bytes_of(address));
    auto message = make_message(RTM_GETROUTE, 0, &header, sizeof header);
    if (message)
        nla_put(message.get(), RTA_DST, static_cast<int>(bytes_of(address)),
                address.words_be.data());
    if (message && by_ifindex != 0)
        nla_put_u32(message.get(), RTA_OIF, by_ifindex);
    Route route;
    const int error = netlink.query(
        std::move(message), [&](nlmsghdr *answer) { read_route(answer, address.family, route); });
    if (error < 0 || (route.ifindex == 0 && flags == 0)) // one of several next hops has no RTA_OIF
        return fail("find a route to", address_text(address), 0,
                    "add one; ip route get tells the kernel's view", "there is none");
    return route;
}

} // namespace

Result<Route> route_to(const IpAddress &address) {
    auto route = ask(address, 0, 0);
    if (route && route->source.family == 0)
        return fail("find a route to", address_text(address), 0,
                    "give the output device an address", "no source address for it");
    return route;
}

Result<IpAddress> gateway_to(const IpAddress &address, std::uint32_t ifindex) {
    OLAF_TRY(ask(address, ifindex, RTM_F_FIB_MATCH));
    const auto route = OLAF_TRY(ask(address, ifindex, 0));
    return route.gateway.family != 0 ? route.gateway : address;
}

void wake_neighbour(const Endpoint &endpoint) {
    sockaddr_storage storage;
    const auto length = to_sockaddr(endpoint, storage);
    const Fd socket(::socket(storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (socket)
        ::sendto(socket.get(), nullptr, 0, MSG_DONTWAIT, reinterpret_cast<sockaddr *>(&storage),
                 length);
}

bool neighbour_known(const IpAddress &address, std::uint32_t ifindex) {
    auto netlink = Netlink::open(NETLINK_ROUTE);
    if (!netlink)
        return false;
    ndmsg header{};
    header.ndm_family = address.family == 4 ? AF_INET : AF_INET6;
    header.ndm_ifindex = static_cast<int>(ifindex);
    auto message = make_message(RTM_GETNEIGH, 0, &header, sizeof header);
    if (message)
        nla_put(message.get(), NDA_DST, address.family == 4 ? 4 : 16, address.words_be.data());
    bool known = false;
    netlink->query(std::move(message), [&](nlmsghdr *answer) {
        if (answer->nlmsg_type != RTM_NEWNEIGH)
            return;
        const auto state = static_cast<ndmsg *>(nlmsg_data(answer))->ndm_state;
        known = (state & (NUD_FAILED | NUD_INCOMPLETE)) == 0 && state != NUD_NONE;
    });
    return known;
}

} // namespace olaf
