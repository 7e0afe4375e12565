// SPDX-License-Identifier: BSD-2-Clause
#include "lossy_way_back.hpp"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/pkt_cls.h>
#include <unistd.h>

#include <stdexcept>

namespace olaf::test {
namespace {

constexpr std::int32_t one_in = 10;

bpf_insn instruction(int code, int dst, int imm, int off = 0) {
    return {.code = static_cast<__u8>(code),
            .dst_reg = static_cast<__u8>(dst & 0xf),
            .src_reg = 0,
            .off = static_cast<__s16>(off),
            .imm = imm};
}

/// return bpf_get_prandom_u32() % 10 ? TC_ACT_UNSPEC : TC_ACT_SHOT
int load() {
    const bpf_insn program[] = {
        instruction(BPF_JMP | BPF_CALL, 0, BPF_FUNC_get_prandom_u32),
        instruction(BPF_ALU | BPF_MOD | BPF_K, 0, one_in),
        instruction(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 2),
        instruction(BPF_ALU64 | BPF_MOV | BPF_K, 0, TC_ACT_UNSPEC),
        instruction(BPF_JMP | BPF_EXIT, 0, 0),
        instruction(BPF_ALU64 | BPF_MOV | BPF_K, 0, TC_ACT_SHOT),
        instruction(BPF_JMP | BPF_EXIT, 0, 0),
    };
    return bpf_prog_load(BPF_PROG_TYPE_SCHED_CLS, "lossy", "GPL", program, std::size(program),
                         nullptr);
}

bpf_tc_hook hook_of(const Netns &netns, const std::string &device, bool ingress) {
    bpf_tc_hook hook{};
    hook.sz = sizeof hook;
    hook.ifindex = netns.ifindex(device);
    hook.attach_point = ingress ? BPF_TC_INGRESS : BPF_TC_EGRESS;
    return hook;
}

} // namespace

LossyWayBack::LossyWayBack(const Testbed &bed)
    : netns_(bed.host), device_(bed.upstream() ? "out" : "in"), ingress_(bed.upstream()) {
    const Inside inside(netns_);
    const auto hook = hook_of(netns_, device_, ingress_);
    bpf_tc_opts options{};
    options.sz = sizeof options;
    options.handle = 1;
    options.priority = 1;
    options.prog_fd = load();
    const int error = bpf_tc_attach(&hook, &options);
    close(options.prog_fd);
    if (error != 0)
        throw std::runtime_error("cannot lose ACKs on " + device_);
}

LossyWayBack::~LossyWayBack() {
    const Inside inside(netns_);
    const auto hook = hook_of(netns_, device_, ingress_);
    bpf_tc_opts options{};
    options.sz = sizeof options;
    options.handle = 1;
    options.priority = 1;
    bpf_tc_detach(&hook, &options);
}

} // namespace olaf::test
