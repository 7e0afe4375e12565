// SPDX-License-Identifier: BSD-2-Clause
#include "tc.hpp"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
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

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

#include "bpf_log.hpp"
#include "fd.hpp"
#include "netlink.hpp"
#include "olaf/try.hpp"

namespace olaf {
namespace {

// A priority can hold filters of one kind only: where another kind has the first, take the next.
constexpr std::uint32_t priorities = 8;

bpf_tc_hook hook_of(std::uint32_t ifindex, bpf_tc_attach_point point) {
    bpf_tc_hook hook{};
    hook.sz = sizeof hook;
    hook.ifindex = static_cast<int>(ifindex);
    hook.attach_point = point;
    return hook;
}

bpf_tc_hook hook_of(std::uint32_t ifindex, TcHook where) {
    return hook_of(ifindex, where == TcHook::ingress ? BPF_TC_INGRESS : BPF_TC_EGRESS);
}

std::string name_of(TcHook where) {
    return where == TcHook::ingress ? "ingress" : "egress";
}

bpf_tc_opts options_of(std::uint32_t priority) {
    bpf_tc_opts options{};
    options.sz = sizeof options;
    options.handle = filter_handle;
    options.priority = priority;
    return options;
}

/// Filters below one parent; -1 if the kernel doesn't say.
int count_filters(Netlink &netlink, std::uint32_t ifindex, std::uint32_t parent) {
    tcmsg header{};
    header.tcm_family = AF_UNSPEC;
    header.tcm_ifindex = static_cast<int>(ifindex);
    header.tcm_parent = parent;
    int count = 0;
    const int error = netlink.query(
        make_message(RTM_GETTFILTER, NLM_F_DUMP, &header, sizeof header), [&](nlmsghdr *answer) {
            if (answer->nlmsg_type == RTM_NEWTFILTER)
                count++;
        });
    return error < 0 ? -1 : count;
}

/// Whether the program has that name, of which the kernel keeps 15 characters, and uses one of
/// the maps.
bool runs(std::uint32_t program_id, std::string_view name, std::span<const std::uint32_t> map_ids) {
    const Fd fd(bpf_prog_get_fd_by_id(program_id));
    std::array<std::uint32_t, 64> maps{}; // the most that a program can have
    bpf_prog_info info{};
    info.nr_map_ids = maps.size();
    info.map_ids = reinterpret_cast<std::uintptr_t>(maps.data());
    __u32 length = sizeof info;
    if (!fd || bpf_obj_get_info_by_fd(fd.get(), &info, &length) != 0)
        return false;
    return name.substr(0, sizeof info.name - 1) == info.name &&
           std::ranges::any_of(maps, [&](std::uint32_t id) {
               return id != 0 && std::ranges::find(map_ids, id) != map_ids.end();
           });
}

} // namespace

Result<bool> has_clsact(const Device &device) {
    auto netlink = OLAF_TRY(Netlink::open(NETLINK_ROUTE));
    tcmsg header{};
    header.tcm_family = AF_UNSPEC;
    header.tcm_ifindex = static_cast<int>(device.ifindex);
    bool found = false;
    const int error = netlink.query(
        make_message(RTM_GETQDISC, NLM_F_DUMP, &header, sizeof header), [&](nlmsghdr *answer) {
            const auto *qdisc = static_cast<tcmsg *>(nlmsg_data(answer));
            if (answer->nlmsg_type == RTM_NEWQDISC &&
                qdisc->tcm_ifindex == static_cast<int>(device.ifindex) &&
                qdisc->tcm_parent == TC_H_CLSACT) // an ingress qdisc sits there as well
                found = true;
        });
    if (error < 0)
        return fail("list the qdiscs of", device.name, errno_of_netlink(error));
    return found;
}

Result<void> ensure_clsact(const Device &device) {
    auto hook = hook_of(device.ifindex, BPF_TC_INGRESS);
    const int error = bpf_tc_hook_create(&hook);
    if (error != 0 && error != -EEXIST)
        return fail("add qdisc clsact to", device.name, -error,
                    error == -ENOENT || error == -EOPNOTSUPP ? "modprobe sch_ingress" : "");
    return {};
}

Result<void> remove_empty_clsact(const Device &device) {
    auto netlink = OLAF_TRY(Netlink::open(NETLINK_ROUTE));
    for (const auto parent : {TC_H_MIN_INGRESS, TC_H_MIN_EGRESS})
        if (count_filters(netlink, device.ifindex, TC_H_MAKE(TC_H_CLSACT, parent)) != 0)
            return {}; // somebody else has a filter there
    const auto both = static_cast<bpf_tc_attach_point>(BPF_TC_INGRESS | BPF_TC_EGRESS);
    auto hook = hook_of(device.ifindex, both);
    const int error = bpf_tc_hook_destroy(&hook);
    if (error != 0 && error != -ENOENT && error != -EINVAL && error != -ENODEV)
        return fail("remove qdisc clsact from", device.name, -error);
    return {};
}

Result<std::uint32_t> add_filter(const Device &device, TcHook where, int program_fd) {
    const QuietBpfLog quiet; // the first ones may be taken
    const auto hook = hook_of(device.ifindex, where);
    int error = 0;
    for (std::uint32_t priority = 1; priority <= priorities; priority++) {
        auto options = options_of(priority);
        options.prog_fd = program_fd;
        error = bpf_tc_attach(&hook, &options);
        if (error == 0)
            return priority;
        if (error != -EINVAL && error != -EEXIST)
            break;
    }
    return fail("add a BPF filter to the " + name_of(where) + " of", device.name, -error,
                error == -EINVAL || error == -EEXIST
                    ? "free one of the filter priorities 1 ... 8: tc filter show dev " + device.name +
                          " " + name_of(where)
                    : "this kernel needs cls_bpf: modprobe cls_bpf");
}

Result<void> replace_filter(const Device &device, TcHook where, std::uint32_t priority, int program_fd) {
    const auto hook = hook_of(device.ifindex, where);
    auto options = options_of(priority);
    options.prog_fd = program_fd;
    options.flags = BPF_TC_F_REPLACE;
    if (const int error = bpf_tc_attach(&hook, &options); error != 0)
        return fail("replace the BPF filter of", device.name, -error);
    return {};
}

std::uint32_t find_filter(const Device &device, TcHook where, std::string_view program_name,
                          std::span<const std::uint32_t> map_ids) {
    const QuietBpfLog quiet; // most of these are not there
    const auto hook = hook_of(device.ifindex, where);
    for (std::uint32_t priority = 1; priority <= priorities; priority++) {
        auto found = options_of(priority);
        if (bpf_tc_query(&hook, &found) == 0 && runs(found.prog_id, program_name, map_ids))
            return priority;
    }
    return 0;
}

Result<bool> remove_filter(const Device &device, TcHook where, std::string_view program_name,
                           std::span<const std::uint32_t> map_ids) {
    const auto priority = find_filter(device, where, program_name, map_ids);
    if (priority == 0)
        return false;
    const QuietBpfLog quiet;
    const auto hook = hook_of(device.ifindex, where);
    auto options = options_of(priority);
    if (const int error = bpf_tc_detach(&hook, &options); error != 0 && error != -ENOENT)
        return fail("remove the BPF filter of", device.name, -error);
    return true;
}

namespace {

struct AttachPoint {
    const char *name;
    std::uint32_t tcx; ///< enum bpf_attach_type of Linux 6.6, which older headers don't have
    std::uint32_t parent;
};
constexpr AttachPoint hooks[] = {{"ingress", 46, TC_H_MIN_INGRESS}, {"egress", 47, TC_H_MIN_EGRESS}};

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
void add_tcx(std::uint32_t ifindex, const AttachPoint &hook, std::vector<std::string> &found) {
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
void add_filters(std::uint32_t ifindex, const AttachPoint &hook, std::vector<std::string> &found) {
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
