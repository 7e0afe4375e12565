// SPDX-License-Identifier: BSD-2-Clause
#include "reordering.hpp"

#include <linux/pkt_cls.h>

#include <cstddef>
#include <stdexcept>
#include <vector>

#include "process.hpp"

namespace olaf::test {
namespace {

/// if (bpf_get_prandom_u32() % 100 < PERCENT) skb->priority = 1:2; return TC_ACT_UNSPEC
std::vector<bpf_insn> choose_class(unsigned percent) {
    constexpr int slow = 0x10002;
    return {
        instruction(BPF_ALU64 | BPF_MOV | BPF_X, 6, 1, 0),
        instruction(BPF_JMP | BPF_CALL, 0, 0, BPF_FUNC_get_prandom_u32),
        instruction(BPF_ALU | BPF_MOD | BPF_K, 0, 0, 100),
        instruction(BPF_JMP | BPF_JGE | BPF_K, 0, 0, static_cast<int>(percent), 2),
        instruction(BPF_ALU64 | BPF_MOV | BPF_K, 1, 0, slow),
        instruction(BPF_STX | BPF_MEM | BPF_W, 6, 1, 0, offsetof(__sk_buff, priority)),
        instruction(BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, TC_ACT_UNSPEC),
        instruction(BPF_JMP | BPF_EXIT, 0, 0, 0),
    };
}

} // namespace

Reordering::Reordering(const Netns &netns, const std::string &device, unsigned percent)
    : netns_(netns), device_(device), filter_(netns, device, TcFilter::sent, 2, choose_class(percent)) {
    netns_.tc("qdisc add dev " + device_ + " root handle 1: htb default 1\n" +
              "class add dev " + device_ + " parent 1: classid 1:1 htb rate 10gbit quantum 60000\n" +
              "class add dev " + device_ +
              " parent 1: classid 1:2 htb rate 4mbit burst 700 cburst 700 quantum 1500\n");
}

Reordering::~Reordering() {
    (void)run({"tc", "qdisc", "del", "dev", device_, "root"}, {}, &netns_);
}

unsigned long Reordering::held() const {
    const auto shown = run({"tc", "-s", "class", "show", "dev", device_, "classid", "1:2"}, {}, &netns_);
    const std::string before = "overlimits ";
    const auto slow = shown.out.find("htb 1:2");
    const auto at = slow == std::string::npos ? slow : shown.out.find(before, slow);
    if (at == std::string::npos)
        throw std::runtime_error("tc shows no slow class of " + device_ + ": " + shown.out + shown.err);
    return std::stoul(shown.out.substr(at + before.size()));
}

} // namespace olaf::test
