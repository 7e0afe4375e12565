// SPDX-License-Identifier: BSD-2-Clause
#include "endpoints/wire/asked.hpp"

#include <cstring>

namespace olaf {
namespace {

Address address_of(const in_addr &v4) {
    sockaddr_storage storage{};
    auto &name = reinterpret_cast<sockaddr_in &>(storage);
    name.sin_family = AF_INET;
    name.sin_addr = v4;
    return Address::from(storage);
}

Address address_of(const in6_pktinfo &v6) {
    sockaddr_storage storage{};
    auto &name = reinterpret_cast<sockaddr_in6 &>(storage);
    name.sin6_family = AF_INET6;
    name.sin6_addr = v6.ipi6_addr;
    // Any other address is the host's on each device, and routing chooses that.
    if (IN6_IS_ADDR_LINKLOCAL(&v6.ipi6_addr))
        name.sin6_scope_id = static_cast<std::uint32_t>(v6.ipi6_ifindex);
    return Address::from(storage);
}

template <class Info>
void put(int level, int type, const Info &info, msghdr &message, AskedControl &room) {
    message.msg_control = room.bytes.data();
    message.msg_controllen = CMSG_SPACE(sizeof(info));
    cmsghdr *const part = CMSG_FIRSTHDR(&message);
    *part = {};
    part->cmsg_level = level;
    part->cmsg_type = type;
    part->cmsg_len = CMSG_LEN(sizeof(info));
    std::memcpy(CMSG_DATA(part), &info, sizeof(info));
}

} // namespace

bool is_any(const Address &local) {
    if (!local.is_ipv6())
        return local.family() == AF_INET &&
               reinterpret_cast<const sockaddr_in *>(local.data())->sin_addr.s_addr == INADDR_ANY;
    const in6_addr &v6 = reinterpret_cast<const sockaddr_in6 *>(local.data())->sin6_addr;
    return IN6_IS_ADDR_UNSPECIFIED(&v6) ||
           (IN6_IS_ADDR_V4MAPPED(&v6) && v6.s6_addr32[3] == INADDR_ANY);
}

bool hear_asked(int fd, bool is_ipv6) {
    const int on = 1;
    // IPv4 has its own on an IPv6 socket, too: it names a source even where all are addressed.
    return setsockopt(fd, IPPROTO_IP, IP_PKTINFO, &on, sizeof(on)) == 0 &&
           (!is_ipv6 || setsockopt(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, &on, sizeof(on)) == 0);
}

Address asked_of(msghdr &message) {
    Address asked;
    for (cmsghdr *part = CMSG_FIRSTHDR(&message); part != nullptr;
         part = CMSG_NXTHDR(&message, part)) {
        if (part->cmsg_level == IPPROTO_IP && part->cmsg_type == IP_PKTINFO) {
            in_pktinfo info{};
            std::memcpy(&info, CMSG_DATA(part), sizeof(info));
            return address_of(info.ipi_spec_dst);
        }
        if (part->cmsg_level == IPPROTO_IPV6 && part->cmsg_type == IPV6_PKTINFO) {
            in6_pktinfo info{};
            std::memcpy(&info, CMSG_DATA(part), sizeof(info));
            if (!IN6_IS_ADDR_MULTICAST(&info.ipi6_addr) && !IN6_IS_ADDR_V4MAPPED(&info.ipi6_addr))
                asked = address_of(info);
        }
    }
    return asked;
}

void answer_from(const Address &asked, msghdr &message, AskedControl &room) {
    if (asked.is_ipv6()) {
        const auto &name = *reinterpret_cast<const sockaddr_in6 *>(asked.data());
        put(IPPROTO_IPV6, IPV6_PKTINFO,
            in6_pktinfo{.ipi6_addr = name.sin6_addr, .ipi6_ifindex = name.sin6_scope_id}, message,
            room);
    } else if (asked.family() == AF_INET) {
        const auto &name = *reinterpret_cast<const sockaddr_in *>(asked.data());
        put(IPPROTO_IP, IP_PKTINFO,
            in_pktinfo{.ipi_ifindex = 0, .ipi_spec_dst = name.sin_addr, .ipi_addr = {}}, message,
            room);
    }
}

} // namespace olaf
