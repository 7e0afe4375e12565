// SPDX-License-Identifier: BSD-2-Clause
#include "xdp.hpp"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>
#include <linux/if_link.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "bpf_log.hpp"
#include "clock.hpp"
#include "device.hpp"

namespace olaf {
namespace {

/// Why the driver refuses, in its own words. Creating a link doesn't return them; the older netlink
/// call does.
std::string driver_says(const Device &device, int program_fd, std::uint32_t mode) {
    take_bpf_log();
    const auto ifindex = static_cast<int>(device.ifindex);
    const auto flags = mode | XDP_FLAGS_UPDATE_IF_NOEXIST;
    if (bpf_xdp_attach(ifindex, program_fd, flags, nullptr) == 0)
        bpf_xdp_detach(ifindex, flags, nullptr); // this time it could be attached
    constexpr std::string_view prefix = "Kernel error message: ";
    const auto log = take_bpf_log();
    const auto start = log.find(prefix);
    if (start == log.npos)
        return {};
    const auto from = start + prefix.size();
    return log.substr(from, log.find('\n', from) - from);
}

std::string hint_for(const Device &device, int code, bool skb_mode) {
    if (code == EBUSY || code == EEXIST)
        return xdp_removal(device) + " removes the other program";
    if (code == EPERM || code == EACCES)
        return "run as root (CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN)";
    if (skb_mode)
        return "olaf doctor tells what this kernel lacks";
    if (code == EOPNOTSUPP)
        return "--mode skb works on every driver";
    return fmt::format("--mode skb works on every driver; for native XDP see olaf doctor {}, "
                       "or lower the MTU of {}",
                       device.name, device.mtu);
}

/// A device's XDP program.
struct OnDevice {
    std::uint32_t id = 0;     ///< 0: none
    const char *mode = "xdp"; ///< as `ip link set` names it
};

OnDevice program_on(std::uint32_t ifindex) {
    bpf_xdp_query_opts query{};
    query.sz = sizeof query;
    if (bpf_xdp_query(static_cast<int>(ifindex), 0, &query) != 0)
        return {};
    switch (query.attach_mode) {
    case XDP_ATTACHED_NONE:
        return {};
    case XDP_ATTACHED_SKB:
        return {query.prog_id, "xdpgeneric"};
    case XDP_ATTACHED_HW:
        return {query.prog_id, "xdpoffload"};
    case XDP_ATTACHED_MULTI: // the others show once this one is off
        return query.drv_prog_id != 0   ? OnDevice{query.drv_prog_id, "xdpdrv"}
               : query.skb_prog_id != 0 ? OnDevice{query.skb_prog_id, "xdpgeneric"}
                                        : OnDevice{query.hw_prog_id, "xdpoffload"};
    default:
        return {query.prog_id};
    }
}

/// The id of the link that a program is on that device by; 0: none, or this process may not look.
std::uint32_t link_of(std::uint32_t program, std::uint32_t ifindex) {
    for (std::uint32_t id = 0; bpf_link_get_next_id(id, &id) == 0;) {
        const Fd fd(bpf_link_get_fd_by_id(id));
        bpf_link_info info{};
        __u32 length = sizeof info;
        // The index alone may be that of another network namespace's device.
        if (fd && bpf_obj_get_info_by_fd(fd.get(), &info, &length) == 0 && info.type == BPF_LINK_TYPE_XDP &&
            info.prog_id == program && info.xdp.ifindex == ifindex)
            return id;
    }
    return 0;
}

/// Nothing: it has gone, or this process may not look at it.
std::optional<bpf_prog_info> program_info(std::uint32_t id) {
    bpf_prog_info info{};
    __u32 length = sizeof info;
    const Fd fd(bpf_prog_get_fd_by_id(id));
    if (!fd || bpf_obj_get_info_by_fd(fd.get(), &info, &length) != 0)
        return {};
    return info;
}

/// Those of Linux 6.12 whose ndo_bpf does so, by the names that ethtool -i shows.
constexpr std::array restarting_drivers{"bnxt_en", "ena", "gve",       "i40e",   "ice",    "igb",
                                        "igc",     "ixgbe", "mlx5_core", "mvneta", "st_gmac"};

} // namespace

bool restarts_for_xdp(const Driver &driver) {
    return std::ranges::find(restarting_drivers, driver.name) != restarting_drivers.end();
}

std::string foreign_xdp(std::uint32_t ifindex) {
    const auto id = program_on(ifindex).id;
    if (id == 0)
        return {};
    const auto info = program_info(id);
    return info ? fmt::format("program {} ({})", id, info->name) : fmt::format("program {}", id);
}

std::string xdp_removal(const Device &device) {
    const auto there = program_on(device.ifindex);
    if (there.id == 0)
        return {};
    if (const auto link = link_of(there.id, device.ifindex); link != 0)
        return fmt::format("bpftool link detach id {}", link);
    return fmt::format("ip link set {} {} off", device.name, there.mode);
}

std::optional<std::uint64_t> foreign_xdp_age_ns(std::uint32_t ifindex) {
    const auto info = program_info(program_on(ifindex).id);
    if (!info)
        return {};
    const auto now = boottime_ns();
    return now - std::min<std::uint64_t>(info->load_time, now);
}

Result<Fd> attach_xdp(const Device &device, int program_fd, bool skb_mode) {
    const std::uint32_t mode = skb_mode ? XDP_FLAGS_SKB_MODE : XDP_FLAGS_DRV_MODE;
    bpf_link_create_opts options{};
    options.sz = sizeof options;
    options.flags = mode;
    Fd link(bpf_link_create(program_fd, static_cast<int>(device.ifindex), BPF_XDP, &options));
    if (link)
        return link;
    const int code = errno;
    auto reason = fmt::format("in {} mode", skb_mode ? "skb" : "native");
    if (const auto driver = driver_of(device.name).name; !driver.empty())
        reason += fmt::format(" (driver {})", driver);
    if (code != EBUSY && code != EEXIST)
        if (const auto words = driver_says(device, program_fd, mode); !words.empty())
            reason += ": " + words;
    return fail(attaching_xdp, device.name, code, hint_for(device, code, skb_mode), reason);
}

Result<void> update_xdp(int link_fd, const std::string &device, int program_fd) {
    if (bpf_link_update(link_fd, program_fd, nullptr) != 0)
        return fail("replace the XDP program of", device, errno);
    return {};
}

std::uint32_t xdp_link_device(int link_fd) {
    bpf_link_info info{};
    __u32 length = sizeof info;
    if (bpf_obj_get_info_by_fd(link_fd, &info, &length) != 0 || info.type != BPF_LINK_TYPE_XDP)
        return 0;
    return info.xdp.ifindex;
}

bool xdp_program_on(std::uint32_t ifindex, int program_fd) {
    bpf_prog_info info{};
    __u32 length = sizeof info;
    bpf_xdp_query_opts query{};
    query.sz = sizeof query;
    return bpf_obj_get_info_by_fd(program_fd, &info, &length) == 0 &&
           bpf_xdp_query(static_cast<int>(ifindex), 0, &query) == 0 && info.id != 0 &&
           (info.id == query.prog_id || info.id == query.drv_prog_id ||
            info.id == query.skb_prog_id);
}

} // namespace olaf
