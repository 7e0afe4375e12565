// SPDX-License-Identifier: BSD-2-Clause
#include "foreign_tc.hpp"

#include <bpf/bpf.h>
#include <fmt/format.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <vector>

#include "fd.hpp"
#include "netlink.hpp"
#include "tc.hpp"

namespace olaf {
namespace {

struct Hook {
    const char *name;
    std::uint32_t tcx; ///< enum bpf_attach_type of Linux 6.6, which older headers don't have
    std::uint32_t parent;
};
constexpr Hook hooks[] = {{"ingress", 46, TC_H_MIN_INGRESS}, {"egress", 47, TC_H_MIN_EGRESS}};

/// The start of bpf_attr's `query`, in which Linux looks for a TCX hook.
struct Query {
    std::uint32_t target_ifindex, attach_type, query_flags, attach_flags;
    std::uint64_t prog_ids;
    std::uint32_t count, pad;
    std::uint64_t reserved[4]; ///< flags, links, revision: not asked for
};

std::string program_name(std::uint32_t id) {
    bpf_prog_info info{};
    __u32 length = sizeof info;
    const Fd fd(bpf_prog_get_fd_by_id(id));
    if (!fd || bpf_obj_get_info_by_fd(fd.get(), &info, &length) != 0)
        return "?";
    return info.name;
}

/// TCX programs run before every filter of clsact. Olaf uses none.
void add_tcx(std::uint32_t ifindex, const Hook &hook, std::vector<std::string> &found) {
    std::array<std::uint32_t, 64> ids{};
    Query query{};
    query.target_ifindex = ifindex;
    query.attach_type = hook.tcx;
    query.prog_ids = reinterpret_cast<std::uintptr_t>(ids.data());
    query.count = ids.size();
    if (::syscall(SYS_bpf, BPF_PROG_QUERY, &query, sizeof query) != 0)
        return; // a kernel before 6.6 has no TCX
    for (std::uint32_t i = 0; i < query.count && i < ids.size(); i++)
        found.push_back(
            fmt::format("TCX program {} ({}) on the {}", ids[i], program_name(ids[i]), hook.name));
}

/// Filters of others that come before ours.
void add_filters(std::uint32_t ifindex, const Hook &hook, std::vector<std::string> &found) {
    auto netlink = Netlink::open(NETLINK_ROUTE);
    if (!netlink)
        return;
    tcmsg header{};
    header.tcm_family = AF_UNSPEC;
    header.tcm_ifindex = static_cast<int>(ifindex);
    header.tcm_parent = TC_H_MAKE(TC_H_CLSACT, hook.parent);
    bool ours_seen = false;
    netlink->query(
        make_message(RTM_GETTFILTER, NLM_F_DUMP, &header, sizeof header), [&](nlmsghdr *answer) {
            nlattr *attributes[TCA_MAX + 1] = {};
            if (answer->nlmsg_type != RTM_NEWTFILTER ||
                nlmsg_parse(answer, sizeof(tcmsg), attributes, TCA_MAX, nullptr) < 0)
                return;
            const auto *filter = static_cast<tcmsg *>(nlmsg_data(answer));
            ours_seen |= filter->tcm_handle == filter_handle;
            if (ours_seen || filter->tcm_handle == 0) // 0: the head of a priority
                return;
            const char *kind =
                attributes[TCA_KIND] ? nla_get_string(attributes[TCA_KIND]) : "unknown";
            auto text = fmt::format("a filter of kind {} and priority {} on the {}", kind,
                                    filter->tcm_info >> 16, hook.name);
            if (found.empty() || found.back() != text) // u32 has several parts
                found.push_back(std::move(text));
        });
}

} // namespace

std::string foreign_tc(std::uint32_t ifindex) {
    std::vector<std::string> found;
    for (const auto &hook : hooks) {
        add_tcx(ifindex, hook, found);
        add_filters(ifindex, hook, found);
    }
    return fmt::format("{}", fmt::join(found, ", "));
}

} // namespace olaf
