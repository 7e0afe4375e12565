// SPDX-License-Identifier: BSD-2-Clause
#include <bpf/libbpf.h>
#include <fmt/format.h>
#include <linux/bpf.h>

#include <cstring>
#include <fstream>
#include <string>

#include "checks.hpp"
#include "loader/datapath/datapath.hpp"
#include "loader/host/bpffs.hpp"
#include "loader/host/device.hpp"
#include "loader/host/host.hpp"

namespace olaf {
namespace {

Check check_kernel() {
    const auto release = kernel_release();
    if (is_preempt_rt())
        return {"kernel", Verdict::bad, "Linux " + release + " is a PREEMPT_RT kernel",
                "boot one without: on it softirqs preempt each other"};
    if (running_kernel() >= oldest_kernel)
        return {"kernel", Verdict::good, "Linux " + release, ""};
    return {"kernel", Verdict::bad, "Linux " + release + " is too old",
            fmt::format("boot Linux {}.{} or later", oldest_kernel.major, oldest_kernel.minor)};
}

Check check_privileges() {
    if (require_privileges("", "") && !require_privileges_to_change("", ""))
        return {"privileges", Verdict::bad, "no CAP_SYS_ADMIN",
                "run as root: attach and detach take CAP_SYS_ADMIN and CAP_NET_ADMIN"};
    if (require_privileges("", ""))
        return {"privileges", Verdict::good, "CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN", ""};
    return {"privileges", Verdict::bad, "not root",
            "run as root (CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN)"};
}

Check check_types() {
    std::string missing;
    const auto need = [&](int has, std::string_view what) {
        if (has != 1)
            missing += fmt::format("{}{}", missing.empty() ? "" : ", ", what);
    };
    need(libbpf_probe_bpf_prog_type(BPF_PROG_TYPE_XDP, nullptr), "XDP programs");
    need(libbpf_probe_bpf_prog_type(BPF_PROG_TYPE_SCHED_CLS, nullptr), "TC programs");
    need(libbpf_probe_bpf_map_type(BPF_MAP_TYPE_PERCPU_ARRAY, nullptr), "per-CPU arrays");
    need(libbpf_probe_bpf_map_type(BPF_MAP_TYPE_LPM_TRIE, nullptr), "LPM tries");
    const std::pair<bpf_func_id, const char *> helpers[] = {
        {BPF_FUNC_xdp_load_bytes, "bpf_xdp_load_bytes"},
        {BPF_FUNC_xdp_store_bytes, "bpf_xdp_store_bytes"},
        {BPF_FUNC_xdp_adjust_tail, "bpf_xdp_adjust_tail"},
        {BPF_FUNC_redirect, "bpf_redirect"},
        {BPF_FUNC_fib_lookup, "bpf_fib_lookup"}};
    for (const auto &[helper, name] : helpers)
        need(libbpf_probe_bpf_helper(BPF_PROG_TYPE_XDP, helper, nullptr), name);
    if (missing.empty())
        return {"BPF features", Verdict::good, "every program type, map type and helper in use",
                ""};
    return {"BPF features", Verdict::bad, "missing: " + missing,
            "a kernel with CONFIG_BPF_SYSCALL, CONFIG_NET_CLS_BPF, CONFIG_NET_CLS_ACT"};
}

Check check_programs() {
    const auto config = make_config({.queue_capacity = 8, .max_clusters = 4});
    const auto loaded =
        config ? Datapath::load(*config) : Result<Datapath>(std::unexpected(config.error()));
    if (loaded)
        return {"verifier", Verdict::good, "takes every program of the queue", ""};
    return {"verifier", Verdict::bad, loaded.error().message(),
            "olaf doctor -v shows the verifier's words"};
}

Check check_btf() {
    if (std::ifstream("/sys/kernel/btf/vmlinux"))
        return {"BTF", Verdict::good, "losses behind the queue can be counted", ""};
    return {"BTF", Verdict::hint, "none: losses behind the queue won't be counted",
            "a kernel with CONFIG_DEBUG_INFO_BTF"};
}

Check check_jit() {
    std::ifstream file("/proc/sys/net/core/bpf_jit_enable");
    int enabled = 1;
    if (!(file >> enabled) || enabled != 0)
        return {"JIT", Verdict::good, "on", ""};
    return {"JIT", Verdict::hint, "off: many times slower", "sysctl net.core.bpf_jit_enable=1"};
}

Check check_bpffs() {
    if (bpffs_is_hidden())
        return {"bpffs", Verdict::bad, "not in this process's own mounts",
                "use olaf --netns NAME in place of ip netns exec NAME olaf"};
    if (!bpffs_mounted())
        return {"bpffs", Verdict::hint, "not mounted at /sys/fs/bpf",
                "attach mounts it, if it may; or: mount -t bpf bpf /sys/fs/bpf"};
    const auto places = pinned_places();
    if (!places)
        return {"bpffs", Verdict::hint,
                fmt::format("mounted; how many queues are pinned can't be told: {}",
                            std::strerror(places.error().code)),
                places.error().hint};
    return {
        "bpffs", Verdict::good,
        fmt::format("mounted, {} queue{} pinned", places->size(), places->size() == 1 ? "" : "s"),
        ""};
}

Check check_forwarding() {
    std::ifstream file("/proc/sys/net/ipv4/ip_forward");
    int on = 0;
    if (file >> on && on == 1)
        return {"ip_forward", Verdict::good, "on", ""};
    return {"ip_forward", Verdict::hint,
            "off: no matter for --local, nor for --forward as a bridge",
            "for --upstream, and --forward as a router: sysctl net.ipv4.ip_forward=1"};
}

} // namespace

std::vector<Check> check_host() {
    std::vector<Check> checks{check_kernel(), check_privileges()};
    if (checks.back().verdict == Verdict::good) {
        checks.push_back(check_types());
        checks.push_back(check_programs());
    }
    checks.push_back(check_btf());
    checks.push_back(check_jit());
    checks.push_back(check_bpffs());
    checks.push_back(check_forwarding());
    return checks;
}

} // namespace olaf
