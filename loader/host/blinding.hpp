// SPDX-License-Identifier: BSD-2-Clause
// Whether the kernel blinds the constants of programs that it loads (net.core.bpf_jit_harden). It
// then runs a copy of the program, which is longer.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace olaf {

/// Why a program may be blinded; empty: it won't be. `harden` is the content of
/// /proc/sys/net/core/bpf_jit_harden ("" where there is no such file: in a network namespace other
/// than the first, or in a kernel without a JIT compiler). Then it counts by how many instructions
/// a small program with a constant grew when it was loaded; nothing: it wasn't loaded.
std::string blinding(std::string_view harden, std::optional<unsigned> growth);

/// The same of this kernel, for this process, now. Needs CAP_BPF in such a namespace, or says that
/// it doesn't know.
std::string why_blinded();

} // namespace olaf
