// SPDX-License-Identifier: BSD-2-Clause
#include "losing.hpp"

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "olaf/protocol.h"
#include "process.hpp"

namespace olaf::test {
namespace {

using Program = std::vector<bpf_insn>;

void append_verdict(Program &program, int verdict) {
    program.push_back(instruction(BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, verdict));
    program.push_back(instruction(BPF_JMP | BPF_EXIT, 0, 0, 0));
}

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
    : filter_(netns, std::move(device), direction, 1, at_random(percent)) {}

LosingLong::LosingLong(const Netns &netns, std::string device, Losing::Direction direction,
                       unsigned bytes)
    : filter_(netns, std::move(device), direction, 1, longer_than(bytes)) {}

LosingFirst::LosingFirst(const Netns &netns, std::string device, Losing::Direction direction,
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

} // namespace olaf::test
