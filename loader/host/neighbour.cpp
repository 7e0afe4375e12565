// SPDX-License-Identifier: BSD-2-Clause
#include "neighbour.hpp"

#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <sys/socket.h>

#include "netlink.hpp"

namespace olaf {

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
