// SPDX-License-Identifier: BSD-2-Clause
#include "netfilter.hpp"

#include <fmt/format.h>
#include <netinet/in.h>
#include <linux/netfilter.h> // after netinet/in.h, which it leaves alone then
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <netlink/attr.h>
#include <netlink/errno.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>

#include <cerrno>

#include "netlink.hpp"

namespace olaf {
namespace {

constexpr int tries = 8; // dumps that somebody's change has spoilt

/// "ip", if packets of such a family are forwarded; else "".
std::string family_of(int family, const Forwarded &forwarded) {
    switch (family) {
    case NFPROTO_IPV4:
        return forwarded.ip ? "ip" : "";
    case NFPROTO_IPV6:
        return forwarded.ip6 ? "ip6" : "";
    case NFPROTO_INET:
        return forwarded.ip || forwarded.ip6 ? "inet" : "";
    case NFPROTO_BRIDGE:
        return forwarded.bridged ? "bridge" : "";
    default:
        return "";
    }
}

/// The hooks of all these families have the same numbers.
bool is_passed(nlattr *hook) {
    nlattr *attributes[NFTA_HOOK_MAX + 1] = {};
    if (nla_parse_nested(attributes, NFTA_HOOK_MAX, hook, nullptr) < 0 ||
        attributes[NFTA_HOOK_HOOKNUM] == nullptr)
        return false;
    const auto number = ntohl(nla_get_u32(attributes[NFTA_HOOK_HOOKNUM]));
    return number == NF_INET_PRE_ROUTING || number == NF_INET_FORWARD ||
           number == NF_INET_POST_ROUTING;
}

void read_chain(nlmsghdr *answer, const Forwarded &forwarded, std::vector<std::string> &chains) {
    nlattr *attributes[NFTA_CHAIN_MAX + 1] = {};
    if (answer->nlmsg_type != (NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_NEWCHAIN) ||
        nlmsg_parse(answer, sizeof(nfgenmsg), attributes, NFTA_CHAIN_MAX, nullptr) < 0)
        return;
    const auto family =
        family_of(static_cast<const nfgenmsg *>(nlmsg_data(answer))->nfgen_family, forwarded);
    if (family.empty() || attributes[NFTA_CHAIN_HOOK] == nullptr ||
        !is_passed(attributes[NFTA_CHAIN_HOOK]) || attributes[NFTA_CHAIN_TABLE] == nullptr ||
        attributes[NFTA_CHAIN_NAME] == nullptr)
        return;
    const auto number = [&](int attribute) {
        return attributes[attribute] == nullptr ? 0 : ntohl(nla_get_u32(attributes[attribute]));
    };
    const bool drops =
        attributes[NFTA_CHAIN_POLICY] != nullptr && number(NFTA_CHAIN_POLICY) == NF_DROP;
    if (drops || number(NFTA_CHAIN_USE) != 0) // its rules
        chains.push_back(fmt::format("{} {} {}", family, nla_get_string(attributes[NFTA_CHAIN_TABLE]),
                                     nla_get_string(attributes[NFTA_CHAIN_NAME])));
}

} // namespace

Result<std::vector<std::string>> forwarding_chains(const Forwarded &forwarded) {
    auto netlink = Netlink::open(NETLINK_NETFILTER);
    if (!netlink) // a kernel without netfilter
        return std::vector<std::string>();
    const nfgenmsg header{.nfgen_family = NFPROTO_UNSPEC, .version = NFNETLINK_V0, .res_id = 0};
    std::vector<std::string> chains;
    int error = -NLE_DUMP_INTR;
    for (int i = 0; i < tries && error == -NLE_DUMP_INTR; i++) {
        chains.clear();
        error = netlink->query(make_message(NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_GETCHAIN, NLM_F_DUMP,
                                            &header, sizeof header),
                               [&](nlmsghdr *answer) { read_chain(answer, forwarded, chains); });
    }
    if (errno_of_netlink(error) == EPERM)
        return fail("list", "netfilter's chains", EPERM, "run as root");
    return chains; // any other error: a kernel without nftables
}

} // namespace olaf
