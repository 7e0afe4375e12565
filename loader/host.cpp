// SPDX-License-Identifier: BSD-2-Clause
#include "host.hpp"

#include <fmt/format.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>

namespace olaf {

std::string kernel_release() {
    utsname name{};
    return ::uname(&name) == 0 ? name.release : "?";
}

KernelVersion running_kernel() {
    KernelVersion version;
    if (std::sscanf(kernel_release().c_str(), "%u.%u", &version.major, &version.minor) != 2)
        return {};
    return version;
}

Result<void> require_privileges(const std::string &operation, const std::string &object) {
    __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};
    ::syscall(SYS_capget, &header, data);
    const auto has = [&](int capability) {
        return (data[capability / 32].effective >> (capability % 32)) & 1;
    };
    if (has(CAP_NET_ADMIN) && ((has(CAP_BPF) && has(CAP_PERFMON)) || has(CAP_SYS_ADMIN)))
        return {};
    return fail(operation, object, EPERM, "run as root (CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN)");
}

Result<void> require_kernel(const std::string &operation, const std::string &object) {
    if (running_kernel() >= oldest_kernel)
        return {};
    return fail(
        operation, object, 0,
        fmt::format("Linux {}.{} or later is needed", oldest_kernel.major, oldest_kernel.minor),
        fmt::format("this kernel, {}, is too old", kernel_release()));
}

} // namespace olaf
