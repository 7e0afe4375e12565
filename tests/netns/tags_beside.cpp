// SPDX-License-Identifier: BSD-2-Clause
#include "tags_beside.hpp"

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include <unistd.h>

#include <stdexcept>

#include "tc_filter.hpp"

namespace olaf::test {
namespace {

constexpr int tag = 7, source_mac_offset = 6, marked_byte = 4;

/// if (the byte of the source MAC address that tells tagged_mac) bpf_skb_vlan_push(skb, 8021Q, 7);
int load() {
    const bpf_insn program[] = {
        instruction(BPF_ALU64 | BPF_MOV | BPF_X, 6, 1, 0),
        instruction(BPF_ALU64 | BPF_MOV | BPF_K, 2, 0, source_mac_offset + marked_byte),
        instruction(BPF_ALU64 | BPF_MOV | BPF_X, 3, 10, 0),
        instruction(BPF_ALU64 | BPF_ADD | BPF_K, 3, 0, -8),
        instruction(BPF_ALU64 | BPF_MOV | BPF_K, 4, 0, 1),
        instruction(BPF_JMP | BPF_CALL, 0, 0, BPF_FUNC_skb_load_bytes),
        instruction(BPF_JMP | BPF_JNE | BPF_K, 0, 0, 0, 6),
        instruction(BPF_LDX | BPF_MEM | BPF_B, 1, 10, 0, -8),
        instruction(BPF_JMP | BPF_JNE | BPF_K, 1, 0, tagged_mac[marked_byte], 4),
        instruction(BPF_ALU64 | BPF_MOV | BPF_X, 1, 6, 0),
        instruction(BPF_ALU64 | BPF_MOV | BPF_K, 2, 0, htons(ETH_P_8021Q)),
        instruction(BPF_ALU64 | BPF_MOV | BPF_K, 3, 0, tag),
        instruction(BPF_JMP | BPF_CALL, 0, 0, BPF_FUNC_skb_vlan_push),
        instruction(BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, TC_ACT_UNSPEC),
        instruction(BPF_JMP | BPF_EXIT, 0, 0, 0),
    };
    return bpf_prog_load(BPF_PROG_TYPE_SCHED_CLS, "tags_beside", "GPL", program,
                         std::size(program), nullptr);
}

} // namespace

TagsBeside::TagsBeside(const Netns &netns, const std::string &device) {
    const Inside inside(netns);
    bpf_tc_hook hook{};
    hook.sz = sizeof hook;
    hook.ifindex = netns.ifindex(device);
    hook.attach_point = BPF_TC_EGRESS;
    bpf_tc_hook_create(&hook);
    bpf_tc_opts options{};
    options.sz = sizeof options;
    options.prog_fd = load();
    const int error = bpf_tc_attach(&hook, &options);
    close(options.prog_fd);
    if (error != 0)
        throw std::runtime_error("cannot tag what " + device + " sends");
}

Bytes with_tag(const Frame &frame) {
    Bytes bytes = frame.bytes, tag_bytes;
    put_be(tag_bytes, ETH_P_8021Q, 2);
    put_be(tag_bytes, tag, 2);
    bytes.insert(bytes.begin() + 12, tag_bytes.begin(), tag_bytes.end());
    return bytes;
}

} // namespace olaf::test
