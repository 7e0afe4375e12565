// SPDX-License-Identifier: BSD-2-Clause
#include "foreign.hpp"

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <stdexcept>
#include <vector>

#include "olaf/protocol.h"
#include "process.hpp"

namespace olaf::test {
namespace {

using Program = std::vector<bpf_insn>;

bpf_insn instruction(int code, int dst, int src, int imm, int off = 0) {
    return {.code = static_cast<__u8>(code),
            .dst_reg = static_cast<__u8>(dst & 0xf),
            .src_reg = static_cast<__u8>(src & 0xf),
            .off = static_cast<__s16>(off),
            .imm = imm};
}

void append_verdict(Program &program, int verdict) {
    program.push_back(instruction(BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, verdict));
    program.push_back(instruction(BPF_JMP | BPF_EXIT, 0, 0, 0));
}

/// return VERDICT
Program always(int verdict) {
    Program program;
    append_verdict(program, verdict);
    return program;
}

int load(bpf_prog_type type, std::span<const bpf_insn> program) {
    return bpf_prog_load(type, "foreign", "GPL", program.data(), program.size(), nullptr);
}

bpf_tc_hook hook_of(int ifindex, TcFilter::Direction direction) {
    bpf_tc_hook hook{};
    hook.sz = sizeof hook;
    hook.ifindex = ifindex;
    hook.attach_point = direction == TcFilter::received ? BPF_TC_INGRESS : BPF_TC_EGRESS;
    return hook;
}

bpf_tc_opts filter_of(unsigned priority) {
    bpf_tc_opts options{};
    options.sz = sizeof options;
    options.handle = 1;
    options.priority = priority;
    return options;
}

} // namespace

TcFilter::TcFilter(const Netns &netns, std::string device, Direction direction, unsigned priority,
                   std::span<const bpf_insn> program)
    : netns_(netns), ifindex_(netns.ifindex(device)), direction_(direction), priority_(priority) {
    const Inside inside(netns_);
    auto hook = hook_of(ifindex_, direction_);
    (void)bpf_tc_hook_create(&hook); // it may be there
    auto options = filter_of(priority_);
    program_ = options.prog_fd = load(BPF_PROG_TYPE_SCHED_CLS, program);
    if (program_ < 0 || bpf_tc_attach(&hook, &options) != 0) {
        close(program_);
        throw std::runtime_error("cannot put a filter on " + device);
    }
}

TcFilter::~TcFilter() {
    const Inside inside(netns_);
    const auto hook = hook_of(ifindex_, direction_);
    const auto options = filter_of(priority_);
    (void)bpf_tc_detach(&hook, &options);
    close(program_);
}

std::uint64_t TcFilter::runs() const {
    bpf_prog_info info{};
    __u32 length = sizeof info;
    if (bpf_obj_get_info_by_fd(program_, &info, &length) != 0)
        throw std::runtime_error("cannot inspect a filter");
    return info.run_cnt;
}

bool TcFilter::attached() const {
    const Inside inside(netns_);
    const auto hook = hook_of(ifindex_, direction_);
    auto options = filter_of(priority_);
    return bpf_tc_query(&hook, &options) == 0;
}

ForeignFilter::ForeignFilter(const Netns &netns, std::string device, Direction direction,
                             unsigned priority)
    : TcFilter(netns, std::move(device), direction, priority, always(TC_ACT_UNSPEC)) {}

ForeignTcx::ForeignTcx(const Netns &netns, const std::string &device, TcFilter::Direction direction,
                       int verdict) {
    const Inside inside(netns);
    const int program = load(BPF_PROG_TYPE_SCHED_CLS, always(verdict));
    // enum bpf_attach_type and bpf_attr::link_create of Linux 6.6.
    const std::uint32_t attributes[16] = {static_cast<std::uint32_t>(program),
                                          static_cast<std::uint32_t>(netns.ifindex(device)),
                                          direction == TcFilter::received ? 46u : 47u};
    link_ = static_cast<int>(syscall(SYS_bpf, BPF_LINK_CREATE, attributes, sizeof attributes));
    close(program);
}

ForeignTcx::~ForeignTcx() {
    if (link_ >= 0)
        close(link_);
}

ForeignXdp::ForeignXdp(const Netns &netns, const std::string &device) {
    const Inside inside(netns);
    const int program = load(BPF_PROG_TYPE_XDP, always(XDP_PASS));
    link_ = bpf_link_create(program, netns.ifindex(device), BPF_XDP, nullptr);
    close(program);
    if (link_ < 0)
        throw std::runtime_error("cannot attach a foreign program to " + device);
}

ForeignXdp::~ForeignXdp() {
    close(link_);
}

// ---- loss ----

namespace {

/// return bpf_get_prandom_u32() % 100 >= PERCENT ? TC_ACT_UNSPEC : TC_ACT_SHOT
Program at_random(unsigned percent) {
    Program program = {
        instruction(BPF_JMP | BPF_CALL, 0, 0, BPF_FUNC_get_prandom_u32),
        instruction(BPF_ALU | BPF_MOD | BPF_K, 0, 0, 100),
        instruction(BPF_JMP | BPF_JLT | BPF_K, 0, 0, static_cast<int>(percent), 2),
    };
    append_verdict(program, TC_ACT_UNSPEC);
    append_verdict(program, TC_ACT_SHOT);
    return program;
}

/// return skb->len > BYTES ? TC_ACT_SHOT : TC_ACT_UNSPEC
Program longer_than(unsigned bytes) {
    Program program = {
        instruction(BPF_LDX | BPF_MEM | BPF_W, 0, 1, offsetof(__sk_buff, len)),
        instruction(BPF_JMP | BPF_JGT | BPF_K, 0, 0, static_cast<int>(bytes), 2),
    };
    append_verdict(program, TC_ACT_UNSPEC);
    append_verdict(program, TC_ACT_SHOT);
    return program;
}

/// if (the four bytes at `offset` of the UDP payload aren't `word_be`) return TC_ACT_UNSPEC; skb in r6
void append_match(Program &program, int offset, std::uint32_t word_be) {
    constexpr int payload = 14 + 20 + 8;
    program.insert(program.end(),
                   {instruction(BPF_ALU64 | BPF_MOV | BPF_X, 1, 6, 0),
                    instruction(BPF_ALU64 | BPF_MOV | BPF_K, 2, 0, payload + offset),
                    instruction(BPF_ALU64 | BPF_MOV | BPF_X, 3, 10, 0),
                    instruction(BPF_ALU64 | BPF_ADD | BPF_K, 3, 0, -8),
                    instruction(BPF_ALU64 | BPF_MOV | BPF_K, 4, 0, 4),
                    instruction(BPF_JMP | BPF_CALL, 0, 0, BPF_FUNC_skb_load_bytes),
                    instruction(BPF_JMP | BPF_JNE | BPF_K, 0, 0, 0, 2),
                    instruction(BPF_LDX | BPF_MEM | BPF_W, 1, 10, 0, -8),
                    instruction(BPF_JMP32 | BPF_JEQ | BPF_K, 1, 0, static_cast<int>(word_be), 2)});
    append_verdict(program, TC_ACT_UNSPEC);
}

/// ... and of those that match: return counter++ < FIRST ? TC_ACT_SHOT : TC_ACT_UNSPEC
Program first_of(Messages messages, std::uint32_t first, int counter) {
    Program program = {instruction(BPF_ALU64 | BPF_MOV | BPF_X, 6, 1, 0)};
    append_match(program, 0,
                 htonl(std::uint32_t{OLAF_MAGIC} << 16 | OLAF_VERSION << 8 | messages.type));
    if (messages.action != 0)
        append_match(program, 20, htonl(messages.action));
    program.insert(
        program.end(),
        {instruction(BPF_ST | BPF_MEM | BPF_W, 10, 0, 0, -4),
         instruction(BPF_LD | BPF_DW | BPF_IMM, 1, BPF_PSEUDO_MAP_FD, counter),
         instruction(0, 0, 0, 0), // the other half of it
         instruction(BPF_ALU64 | BPF_MOV | BPF_X, 2, 10, 0),
         instruction(BPF_ALU64 | BPF_ADD | BPF_K, 2, 0, -4),
         instruction(BPF_JMP | BPF_CALL, 0, 0, BPF_FUNC_map_lookup_elem),
         instruction(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 0, 6),
         instruction(BPF_ALU64 | BPF_MOV | BPF_K, 1, 0, 1),
         instruction(BPF_STX | BPF_ATOMIC | BPF_DW, 0, 1, BPF_ADD | BPF_FETCH),
         instruction(BPF_ALU | BPF_MOV | BPF_K, 2, 0, static_cast<int>(first)),
         instruction(BPF_JMP | BPF_JGE | BPF_X, 1, 2, 0, 2)});
    append_verdict(program, TC_ACT_SHOT);
    append_verdict(program, TC_ACT_UNSPEC);
    return program;
}

int make_counter() {
    const int map = bpf_map_create(BPF_MAP_TYPE_ARRAY, "seen", sizeof(std::uint32_t),
                                   sizeof(std::uint64_t), 1, nullptr);
    if (map < 0)
        throw std::runtime_error("cannot count messages");
    return map;
}

} // namespace

Losing::Losing(const Netns &netns, std::string device, Direction direction, unsigned percent)
    : TcFilter(netns, std::move(device), direction, 1, at_random(percent)) {}

LosingLong::LosingLong(const Netns &netns, std::string device, Direction direction, unsigned bytes)
    : TcFilter(netns, std::move(device), direction, 1, longer_than(bytes)) {}

LosingFirst::LosingFirst(const Netns &netns, std::string device, TcFilter::Direction direction,
                         Messages messages, std::uint32_t first)
    : counter_(make_counter()),
      filter_(netns, std::move(device), direction, 2 + messages.type * 16u + messages.action,
              first_of(messages, first, counter_)) {}

LosingFirst::~LosingFirst() {
    close(counter_);
}

std::uint64_t LosingFirst::seen() const {
    const std::uint32_t key = 0;
    std::uint64_t count = 0;
    if (bpf_map_lookup_elem(counter_, &key, &count) != 0)
        throw std::runtime_error("cannot read how many messages were seen");
    return count;
}

void LosingFirst::await_seen(std::uint64_t count) const {
    // No pause: what the test does next is to happen while the next messages are under way.
    await([&] { return seen() >= count; },
          [&] { return std::to_string(count) + " messages, not " + std::to_string(seen()); },
          std::chrono::milliseconds(0));
}

// ---- order ----

namespace {

/// if (bpf_get_prandom_u32() % 100 < PERCENT) skb->priority = 1:2; return TC_ACT_UNSPEC
Program choose_class(unsigned percent) {
    constexpr int slow = 0x10002;
    Program program = {
        instruction(BPF_ALU64 | BPF_MOV | BPF_X, 6, 1, 0),
        instruction(BPF_JMP | BPF_CALL, 0, 0, BPF_FUNC_get_prandom_u32),
        instruction(BPF_ALU | BPF_MOD | BPF_K, 0, 0, 100),
        instruction(BPF_JMP | BPF_JGE | BPF_K, 0, 0, static_cast<int>(percent), 2),
        instruction(BPF_ALU64 | BPF_MOV | BPF_K, 1, 0, slow),
        instruction(BPF_STX | BPF_MEM | BPF_W, 6, 1, 0, offsetof(__sk_buff, priority)),
    };
    append_verdict(program, TC_ACT_UNSPEC);
    return program;
}

} // namespace

Reordering::Reordering(const Netns &netns, const std::string &device, unsigned percent)
    : netns_(netns), device_(device),
      filter_(netns, device, TcFilter::sent, 2, choose_class(percent)) {
    netns_.tc("qdisc add dev " + device_ + " root handle 1: htb default 1\n" + "class add dev " +
              device_ + " parent 1: classid 1:1 htb rate 10gbit quantum 60000\n" +
              "class add dev " + device_ +
              " parent 1: classid 1:2 htb rate 4mbit burst 700 cburst 700 quantum 1500\n");
}

Reordering::~Reordering() {
    (void)run({"tc", "qdisc", "del", "dev", device_, "root"}, {}, &netns_);
}

unsigned long Reordering::held() const {
    const auto shown =
        run({"tc", "-s", "class", "show", "dev", device_, "classid", "1:2"}, {}, &netns_);
    const std::string before = "overlimits ";
    const auto slow = shown.out.find("htb 1:2");
    const auto at = slow == std::string::npos ? slow : shown.out.find(before, slow);
    if (at == std::string::npos)
        throw std::runtime_error("tc shows no slow class of " + device_ + ": " + shown.out +
                                 shown.err);
    return std::stoul(shown.out.substr(at + before.size()));
}

// ---- tags ----

namespace {

constexpr int tag = 7, source_mac_offset = 6, marked_byte = 4;

/// if (the byte of the source MAC address that tells tagged_mac) bpf_skb_vlan_push(skb, 8021Q, 7);
Program push_tag() {
    Program program = {
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
    };
    append_verdict(program, TC_ACT_UNSPEC);
    return program;
}

} // namespace

TagsBeside::TagsBeside(const Netns &netns, const std::string &device)
    : TcFilter(netns, device, sent, 1, push_tag()) {}

Bytes with_tag(const Frame &frame) {
    Bytes bytes = frame.bytes, tag_bytes;
    put_be(tag_bytes, ETH_P_8021Q, 2);
    put_be(tag_bytes, tag, 2);
    bytes.insert(bytes.begin() + 12, tag_bytes.begin(), tag_bytes.end());
    return bytes;
}

} // namespace olaf::test
