// SPDX-License-Identifier: BSD-2-Clause
#include "tc_filter.hpp"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <unistd.h>

#include <stdexcept>
#include <utility>

namespace olaf::test {
namespace {

bpf_tc_hook hook_of(const Netns &netns, const std::string &device, TcFilter::Direction direction) {
    bpf_tc_hook hook{};
    hook.sz = sizeof hook;
    hook.ifindex = netns.ifindex(device);
    hook.attach_point = direction == TcFilter::received ? BPF_TC_INGRESS : BPF_TC_EGRESS;
    return hook;
}

bpf_tc_opts handle(unsigned priority) {
    bpf_tc_opts options{};
    options.sz = sizeof options;
    options.handle = 1;
    options.priority = priority;
    return options;
}

} // namespace

bpf_insn instruction(int code, int dst, int src, int imm, int off) {
    return {.code = static_cast<__u8>(code),
            .dst_reg = static_cast<__u8>(dst & 0xf),
            .src_reg = static_cast<__u8>(src & 0xf),
            .off = static_cast<__s16>(off),
            .imm = imm};
}

TcFilter::TcFilter(const Netns &netns, std::string device, Direction direction, unsigned priority,
                   std::span<const bpf_insn> program)
    : netns_(netns), device_(std::move(device)), direction_(direction), priority_(priority) {
    const Inside inside(netns_);
    auto hook = hook_of(netns_, device_, direction_);
    (void)bpf_tc_hook_create(&hook); // it may be there
    auto options = handle(priority_);
    options.prog_fd = bpf_prog_load(BPF_PROG_TYPE_SCHED_CLS, "meddling", "GPL", program.data(),
                                    program.size(), nullptr);
    const int error = options.prog_fd < 0 ? options.prog_fd : bpf_tc_attach(&hook, &options);
    close(options.prog_fd);
    if (error != 0)
        throw std::runtime_error("cannot put a filter on " + device_);
}

TcFilter::~TcFilter() {
    const Inside inside(netns_);
    const auto hook = hook_of(netns_, device_, direction_);
    auto options = handle(priority_);
    bpf_tc_detach(&hook, &options);
}

} // namespace olaf::test
