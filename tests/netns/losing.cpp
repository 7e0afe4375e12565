// SPDX-License-Identifier: BSD-2-Clause
#include "losing.hpp"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/pkt_cls.h>
#include <unistd.h>

#include <stdexcept>
#include <utility>

namespace olaf::test {
namespace {

bpf_insn instruction(int code, int dst, int imm, int off = 0) {
    return {.code = static_cast<__u8>(code),
            .dst_reg = static_cast<__u8>(dst & 0xf),
            .src_reg = 0,
            .off = static_cast<__s16>(off),
            .imm = imm};
}

/// return bpf_get_prandom_u32() % 100 >= PERCENT ? TC_ACT_UNSPEC : TC_ACT_SHOT
int load(unsigned percent) {
    const bpf_insn program[] = {
        instruction(BPF_JMP | BPF_CALL, 0, BPF_FUNC_get_prandom_u32),
        instruction(BPF_ALU | BPF_MOD | BPF_K, 0, 100),
        instruction(BPF_JMP | BPF_JLT | BPF_K, 0, static_cast<int>(percent), 2),
        instruction(BPF_ALU64 | BPF_MOV | BPF_K, 0, TC_ACT_UNSPEC),
        instruction(BPF_JMP | BPF_EXIT, 0, 0),
        instruction(BPF_ALU64 | BPF_MOV | BPF_K, 0, TC_ACT_SHOT),
        instruction(BPF_JMP | BPF_EXIT, 0, 0),
    };
    return bpf_prog_load(BPF_PROG_TYPE_SCHED_CLS, "losing", "GPL", program, std::size(program),
                         nullptr);
}

bpf_tc_hook hook_of(const Netns &netns, const std::string &device, Losing::Direction direction) {
    bpf_tc_hook hook{};
    hook.sz = sizeof hook;
    hook.ifindex = netns.ifindex(device);
    hook.attach_point = direction == Losing::received ? BPF_TC_INGRESS : BPF_TC_EGRESS;
    return hook;
}

bpf_tc_opts handle() {
    bpf_tc_opts options{};
    options.sz = sizeof options;
    options.handle = 1;
    options.priority = 1;
    return options;
}

} // namespace

Losing::Losing(const Netns &netns, std::string device, Direction direction, unsigned percent)
    : netns_(netns), device_(std::move(device)), direction_(direction) {
    const Inside inside(netns_);
    auto hook = hook_of(netns_, device_, direction_);
    (void)bpf_tc_hook_create(&hook); // it may be there
    auto options = handle();
    options.prog_fd = load(percent);
    const int error = bpf_tc_attach(&hook, &options);
    close(options.prog_fd);
    if (error != 0)
        throw std::runtime_error("cannot lose frames on " + device_);
}

Losing::~Losing() {
    const Inside inside(netns_);
    const auto hook = hook_of(netns_, device_, direction_);
    auto options = handle();
    bpf_tc_detach(&hook, &options);
}

} // namespace olaf::test
