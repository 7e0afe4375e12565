// SPDX-License-Identifier: BSD-2-Clause
#include "host.hpp"

#include <bpf/bpf.h>
#include <fmt/format.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>

#include "fd.hpp"

namespace olaf {

std::string kernel_release() {
    utsname name{};
    return ::uname(&name) == 0 ? name.release : "?";
}

std::string host_name() {
    utsname name{};
    return ::uname(&name) == 0 ? name.nodename : "?";
}

KernelVersion running_kernel() {
    KernelVersion version;
    if (std::sscanf(kernel_release().c_str(), "%u.%u", &version.major, &version.minor) != 2)
        return {};
    return version;
}

bool tells_preempt_rt(std::string_view realtime, std::string_view version) {
    return realtime.starts_with('1') || version.contains("PREEMPT_RT") ||
           version.contains("PREEMPT RT");
}

bool kernel_panics_at_warnings() {
    std::ifstream file("/proc/sys/kernel/panic_on_warn");
    int on = 0;
    return file >> on && on != 0;
}

bool is_preempt_rt() {
    utsname name{};
    std::ifstream file("/sys/kernel/realtime");
    std::string realtime;
    file >> realtime;
    return tells_preempt_rt(realtime, ::uname(&name) == 0 ? name.version : "");
}

namespace {

/// Whether this process has a capability.
auto own_capabilities() {
    __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> data{};
    ::syscall(SYS_capget, &header, data.data());
    return [data](int capability) {
        const auto word = static_cast<std::size_t>(capability / 32);
        return ((data[word].effective >> (capability % 32)) & 1) != 0;
    };
}

} // namespace

Result<void> require_privileges(const std::string &operation, const std::string &object) {
    const auto has = own_capabilities();
    if (has(CAP_NET_ADMIN) && ((has(CAP_BPF) && has(CAP_PERFMON)) || has(CAP_SYS_ADMIN)))
        return {};
    return fail(operation, object, EPERM, "run as root (CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN)");
}

Result<void> require_privileges_to_read(const std::string &operation, const std::string &object) {
    const auto has = own_capabilities();
    if (has(CAP_BPF) || has(CAP_SYS_ADMIN))
        return {};
    return fail(operation, object, EPERM,
                "run as root (reading takes CAP_BPF and CAP_DAC_READ_SEARCH)");
}

Result<void> require_privileges_to_change(const std::string &operation,
                                          const std::string &object) {
    const auto has = own_capabilities();
    if (has(CAP_NET_ADMIN) && has(CAP_SYS_ADMIN))
        return {};
    return fail(operation, object, EPERM, "run as root (CAP_SYS_ADMIN and CAP_NET_ADMIN)",
                "a queue's filters are known by their programs' ids, of which the kernel tells "
                "nobody else");
}

Result<void> require_kernel(const std::string &operation, const std::string &object) {
    if (is_preempt_rt())
        return fail(operation, object, 0, "boot a kernel without PREEMPT_RT",
                    "on a PREEMPT_RT kernel softirqs preempt each other, and the queue isn't "
                    "shown to work so");
    if (running_kernel() >= oldest_kernel)
        return {};
    return fail(
        operation, object, 0,
        fmt::format("Linux {}.{} or later is needed", oldest_kernel.major, oldest_kernel.minor),
        fmt::format("this kernel, {}, is too old", kernel_release()));
}

namespace {

/// By how many instructions a program with a constant grows.
std::optional<unsigned> growth_of_a_constant() {
    const bpf_insn program[] = {
        {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = 0x5eed},
        {.code = BPF_JMP | BPF_EXIT, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = 0},
    };
    const Fd fd(bpf_prog_load(BPF_PROG_TYPE_SOCKET_FILTER, "olaf_constant", "Dual BSD/GPL", program,
                              std::size(program), nullptr));
    bpf_prog_info info{};
    __u32 size = sizeof info;
    if (!fd || bpf_obj_get_info_by_fd(fd.get(), &info, &size) != 0 ||
        info.xlated_prog_len < sizeof program)
        return std::nullopt;
    return static_cast<unsigned>((info.xlated_prog_len - sizeof program) / sizeof(bpf_insn));
}

} // namespace

std::string blinding(std::string_view harden, std::optional<unsigned> growth) {
    if (!harden.empty())
        return harden == "0" ? "" : "net.core.bpf_jit_harden is " + std::string(harden);
    if (!growth)
        return "whether net.core.bpf_jit_harden is 0 can't be known here";
    return *growth == 0 ? "" : "net.core.bpf_jit_harden isn't 0";
}

std::string why_blinded() {
    std::ifstream file("/proc/sys/net/core/bpf_jit_harden");
    std::string harden;
    file >> harden;
    return blinding(harden, harden.empty() ? growth_of_a_constant() : std::nullopt);
}

} // namespace olaf
