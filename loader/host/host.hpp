// SPDX-License-Identifier: BSD-2-Clause
// What every command that touches the kernel needs of this host.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "olaf/result.hpp"

namespace olaf {

struct KernelVersion {
    unsigned major = 0, minor = 0;
    auto operator<=>(const KernelVersion &) const = default;
};

/// Debian 12's own; the oldest that the programs are tested on.
inline constexpr KernelVersion oldest_kernel{6, 1};

KernelVersion running_kernel();
std::string kernel_release(); ///< "6.1.0-18-amd64"
std::string host_name();

/// Fails unless this process has CAP_NET_ADMIN and either CAP_SYS_ADMIN or both CAP_BPF and
/// CAP_PERFMON. The error says that "OPERATION OBJECT" needs them.
Result<void> require_privileges(const std::string &operation, const std::string &object);
/// The same for reading what is pinned, which takes less: CAP_BPF, or CAP_SYS_ADMIN.
Result<void> require_privileges_to_read(const std::string &operation, const std::string &object);
/// The same for attaching and detaching, which take more: CAP_NET_ADMIN with CAP_SYS_ADMIN. Without
/// it filters of an older queue aren't recognised, and would be left behind in silence.
Result<void> require_privileges_to_change(const std::string &operation, const std::string &object);

Result<void> require_kernel(const std::string &operation, const std::string &object);

/// Whether that is a PREEMPT_RT kernel, by the content of /sys/kernel/realtime ("" if there is no
/// such file) and uname's version. There softirqs preempt each other; our programs' per-CPU areas
/// and spin locks rely on it that they don't.
bool tells_preempt_rt(std::string_view realtime, std::string_view version);
bool is_preempt_rt(); ///< of this kernel

/// Whether a warning of the kernel's own makes the host panic (kernel.panic_on_warn).
bool kernel_panics_at_warnings();

// Whether the kernel blinds the constants of programs that it loads (net.core.bpf_jit_harden). It
// then runs a copy of the program, which is longer.

/// Why a program may be blinded; empty: it won't be. `harden` is the content of
/// /proc/sys/net/core/bpf_jit_harden ("" where there is no such file: in a network namespace other
/// than the first, or in a kernel without a JIT compiler). Then it counts by how many instructions
/// a small program with a constant grew when it was loaded; nothing: it wasn't loaded.
std::string blinding(std::string_view harden, std::optional<unsigned> growth);

/// The same of this kernel, for this process, now. Needs CAP_BPF in such a namespace, or says that
/// it doesn't know.
std::string why_blinded();

} // namespace olaf
