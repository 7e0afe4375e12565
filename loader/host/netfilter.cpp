// SPDX-License-Identifier: BSD-2-Clause
#include "netfilter.hpp"

#include <fmt/format.h>
#include <netinet/in.h>
#include <linux/netfilter.h> // after netinet/in.h, which it leaves alone then
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter_ipv4/ip_tables.h>
#include <linux/netfilter_ipv6/ip6_tables.h>
#include <netlink/attr.h>
#include <netlink/errno.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "fd.hpp"
#include "netlink.hpp"
#include "olaf/try.hpp"

namespace olaf {
namespace {

constexpr int tries = 8; // dumps that somebody's change has spoilt
constexpr int device_prefix = 2; // NFTA_DEVICE_PREFIX of Linux 6.16: the chain is of all devices "eth*"

// ---- nft's ----

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
    case NFPROTO_NETDEV:
        return "netdev";
    default:
        return "";
    }
}

/// Whether a chain's hook is of that device.
bool is_of(nlattr *devices, const std::string &device) {
    nlattr *each = nullptr;
    int left = 0;
    if (devices != nullptr)
        nla_for_each_nested(each, devices, left) {
            const std::string_view name = nla_get_string(each);
            if (nla_type(each) == device_prefix ? device.starts_with(name) : device == name)
                return true;
        }
    return false;
}

/// The hooks of IP and of bridges have the same numbers; those of a device have others.
bool is_passed(int family, nlattr *hook, const Forwarded &forwarded) {
    nlattr *attributes[NFTA_HOOK_MAX + 1] = {};
    if (nla_parse_nested(attributes, NFTA_HOOK_MAX, hook, nullptr) < 0 ||
        attributes[NFTA_HOOK_HOOKNUM] == nullptr)
        return false;
    const auto number = ntohl(nla_get_u32(attributes[NFTA_HOOK_HOOKNUM]));
    const auto of = [&](const std::string &device) {
        return is_of(attributes[NFTA_HOOK_DEVS], device);
    };
    if (family == NFPROTO_NETDEV)
        return number == NF_NETDEV_INGRESS ? of(forwarded.in) : of(forwarded.out);
    if (family == NFPROTO_INET && number == NF_INET_INGRESS)
        return of(forwarded.in);
    return number == NF_INET_PRE_ROUTING || number == NF_INET_FORWARD ||
           number == NF_INET_POST_ROUTING;
}

void read_chain(nlmsghdr *answer, const Forwarded &forwarded, std::vector<std::string> &chains) {
    nlattr *attributes[NFTA_CHAIN_MAX + 1] = {};
    if (answer->nlmsg_type != (NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_NEWCHAIN) ||
        nlmsg_parse(answer, sizeof(nfgenmsg), attributes, NFTA_CHAIN_MAX, nullptr) < 0)
        return;
    const int number_of_family = static_cast<const nfgenmsg *>(nlmsg_data(answer))->nfgen_family;
    const auto family = family_of(number_of_family, forwarded);
    if (family.empty() || attributes[NFTA_CHAIN_HOOK] == nullptr ||
        !is_passed(number_of_family, attributes[NFTA_CHAIN_HOOK], forwarded) ||
        attributes[NFTA_CHAIN_TABLE] == nullptr || attributes[NFTA_CHAIN_NAME] == nullptr)
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

Result<std::vector<std::string>> nft_chains(const Forwarded &forwarded) {
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

// ---- iptables-legacy's: tables that are read by socket options ----

/// The two families' structures differ in a rule's own size alone.
struct LegacyTables {
    int family, level;
    const char *names; ///< the file that names the tables that are there
    const char *command;
    std::size_t entries, target; ///< where a dump's entries begin, and an entry has the place of its target
};
constexpr LegacyTables legacy_ip{AF_INET, IPPROTO_IP, "/proc/net/ip_tables_names", "iptables-legacy",
                                 sizeof(ipt_get_entries), offsetof(ipt_entry, target_offset)};
constexpr LegacyTables legacy_ip6{AF_INET6, IPPROTO_IPV6, "/proc/net/ip6_tables_names", "ip6tables-legacy",
                                  sizeof(ip6t_get_entries), offsetof(ip6t_entry, target_offset)};

/// Whether a table's rules at a hook end with a policy that drops.
bool drops_at(const std::vector<char> &dump, const LegacyTables &tables, std::uint32_t policy) {
    std::uint16_t target = 0;
    xt_standard_target verdict{};
    const auto entry = tables.entries + policy;
    if (entry + tables.target + sizeof target > dump.size())
        return false;
    std::memcpy(&target, &dump[entry + tables.target], sizeof target);
    if (entry + target + sizeof verdict > dump.size())
        return false;
    std::memcpy(&verdict, &dump[entry + target], sizeof verdict);
    return verdict.verdict == -NF_DROP - 1;
}

void read_legacy(const LegacyTables &tables, std::vector<std::string> &chains) {
    constexpr std::pair<int, const char *> hooks[] = {{NF_INET_PRE_ROUTING, "PREROUTING"},
                                                      {NF_INET_FORWARD, "FORWARD"},
                                                      {NF_INET_POST_ROUTING, "POSTROUTING"}};
    const Fd socket(::socket(tables.family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    // Only of tables that are there: to ask for another makes it, and then each packet goes through it.
    std::ifstream file(tables.names);
    for (std::string table; file >> table;) {
        ipt_getinfo info{};
        std::vector<char> dump;
        int failed = -1;
        for (int i = 0; i < tries && failed != 0; i++) { // while somebody changes it
            table.copy(info.name, sizeof info.name - 1);
            socklen_t length = sizeof info;
            if (getsockopt(socket.get(), tables.level, IPT_SO_GET_INFO, &info, &length) != 0)
                break;
            dump.assign(tables.entries + info.size, 0);
            auto *wanted = reinterpret_cast<ipt_get_entries *>(dump.data());
            table.copy(wanted->name, sizeof wanted->name - 1);
            wanted->size = info.size;
            length = static_cast<socklen_t>(dump.size());
            failed = getsockopt(socket.get(), tables.level, IPT_SO_GET_ENTRIES, dump.data(), &length);
        }
        for (const auto &[hook, chain] : hooks)
            if (failed == 0 && (info.valid_hooks >> hook & 1) != 0 &&
                (info.underflow[hook] != info.hook_entry[hook] ||
                 drops_at(dump, tables, info.underflow[hook])))
                chains.push_back(fmt::format("{} {} {}", tables.command, table, chain));
    }
}

} // namespace

Result<std::vector<std::string>> forwarding_chains(const Forwarded &forwarded) {
    auto chains = OLAF_TRY(nft_chains(forwarded));
    if (forwarded.ip)
        read_legacy(legacy_ip, chains);
    if (forwarded.ip6)
        read_legacy(legacy_ip6, chains);
    return chains;
}

} // namespace olaf
