// SPDX-License-Identifier: BSD-2-Clause
#include "blinding.hpp"

#include <bpf/bpf.h>

#include <fstream>
#include <iterator>

#include "fd.hpp"

namespace olaf {
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
