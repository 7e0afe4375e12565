// SPDX-License-Identifier: BSD-2-Clause
// The kernel's helpers, as far as the programs call them. What isn't modelled ends the test.
#include <linux/pkt_cls.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>

#include "machine.hpp"
#include "packet.hpp"

using olaf::interleave::Access;
using olaf::interleave::Machine;
using olaf::interleave::Memory;
using olaf::interleave::Packet;
using olaf::interleave::World;

namespace {

/// More rounds than any search has: a wait.
constexpr std::uint32_t wait_rounds = 1u << 20;
constexpr std::uint64_t tick_ns = 1'000'000;

/// A key's place in a hash table: its value, and whether it is there.
std::uint32_t *hashed(const char *map, const void *key) {
    auto *place = static_cast<std::uint32_t *>(Machine::the().memory.lookup(map, key, 0));
    if (place == nullptr)
        throw std::logic_error(std::string(map) + " has no place for this key");
    return place;
}

long load(Packet &packet, std::uint32_t offset, void *to, std::uint32_t bytes) {
    const std::uint8_t *from = packet.at(offset, bytes);
    if (from == nullptr)
        return -EFAULT;
    Machine::the().access(to, bytes, {false, true, true});
    std::memcpy(to, from, bytes);
    return 0;
}

long store(Packet &packet, std::uint32_t offset, const void *from, std::uint32_t bytes) {
    std::uint8_t *to = packet.at(offset, bytes);
    if (to == nullptr)
        return -EFAULT;
    World::current->copying(from);
    Machine::the().access(from, bytes, {true, false, true});
    std::memcpy(to, from, bytes);
    return 0;
}

} // namespace

extern "C" {

long interleave_unmodelled(const char *helper) {
    throw std::logic_error(std::string(helper) + " isn't modelled");
}

void *interleave_lookup(const char *map, const void *key) {
    Memory &memory = Machine::the().memory;
    if (!memory.is_hash(map))
        return memory.lookup(map, key, Machine::the().cpu());
    std::uint32_t *value = hashed(map, key);
    Machine::the().access(value + 1, 4, {true, false, false});
    return value[1] != 0 ? value : nullptr;
}

long interleave_update(const char *map, const void *key, const void *value) {
    std::uint32_t *there = hashed(map, key);
    Machine::the().access(there, 4, {false, true, false});
    std::memcpy(there, value, sizeof(*there));
    Machine::the().access(there + 1, 4, {false, true, false});
    there[1] = 1;
    return 0;
}

long interleave_delete(const char *map, const void *key) {
    std::uint32_t *there = hashed(map, key);
    Machine::the().access(there + 1, 4, {false, true, false});
    there[1] = 0;
    return 0;
}

long interleave_tail_call(xdp_md *xdp, std::uint32_t room) {
    return World::current->enter(xdp, room);
}

std::uint64_t bpf_jiffies64() { return World::current->now_ns() / tick_ns; }

std::uint64_t bpf_ktime_get_ns() { return World::current->now_ns(); }
std::uint64_t bpf_ktime_get_tai_ns() { return World::current->now_ns(); }
std::uint32_t bpf_get_smp_processor_id() { return Machine::the().cpu(); }

long bpf_loop(std::uint32_t rounds, long (*callback)(std::uint32_t, void *), void *context,
              std::uint64_t) {
    if (rounds >= wait_rounds) {
        Machine::the().await([&] { return callback(0, context) != 0; });
        return 1;
    }
    for (std::uint32_t round = 0; round < rounds; round++)
        if (callback(round, context) != 0)
            return round + 1;
    return rounds;
}

long bpf_xdp_load_bytes(xdp_md *xdp, std::uint32_t offset, void *to, std::uint32_t bytes) {
    return load(Packet::of(xdp), offset, to, bytes);
}
long bpf_xdp_store_bytes(xdp_md *xdp, std::uint32_t offset, void *from, std::uint32_t bytes) {
    return store(Packet::of(xdp), offset, from, bytes);
}
long bpf_xdp_adjust_tail(xdp_md *xdp, int delta) {
    Packet &packet = Packet::of(xdp);
    packet.resize(packet.bytes() + static_cast<std::uint32_t>(delta));
    return 0;
}
long bpf_xdp_adjust_head(xdp_md *, int) { return interleave_unmodelled("bpf_xdp_adjust_head"); }
std::uint64_t bpf_xdp_get_buff_len(xdp_md *xdp) { return Packet::of(xdp).bytes(); }

long bpf_skb_load_bytes(const void *skb, std::uint32_t offset, void *to, std::uint32_t bytes) {
    return load(Packet::of(static_cast<const __sk_buff *>(skb)), offset, to, bytes);
}
long bpf_skb_load_bytes_relative(const void *skb, std::uint32_t offset, void *to,
                                 std::uint32_t bytes, std::uint32_t) {
    return bpf_skb_load_bytes(skb, offset, to, bytes);
}
long bpf_skb_store_bytes(__sk_buff *skb, std::uint32_t offset, const void *from,
                         std::uint32_t bytes, std::uint64_t) {
    return store(Packet::of(skb), offset, from, bytes);
}
long bpf_skb_change_tail(__sk_buff *skb, std::uint32_t bytes, std::uint64_t) {
    Packet::of(skb).resize(bytes);
    return 0;
}
// Frames lie in one piece here.
long bpf_skb_pull_data(__sk_buff *, std::uint32_t) { return 0; }
// Nobody looks at an ACK's sums here.
long bpf_csum_update(__sk_buff *, std::uint32_t) { return 0; }
long bpf_l4_csum_replace(__sk_buff *, std::uint32_t, std::uint64_t, std::uint64_t, std::uint64_t) {
    return 0;
}

long bpf_redirect(std::uint32_t ifindex, std::uint64_t) {
    World::current->redirect(ifindex);
    return TC_ACT_REDIRECT; // what XDP is told is another number, which nobody looks at
}
long bpf_redirect_neigh(std::uint32_t ifindex, void *, int, std::uint64_t flags) {
    return bpf_redirect(ifindex, flags);
}
long bpf_clone_redirect(__sk_buff *skb, std::uint32_t ifindex, std::uint64_t flags) {
    World::current->clone(Packet::of(skb), ifindex, (flags & BPF_F_INGRESS) != 0);
    return 0;
}
long bpf_check_mtu(void *, std::uint32_t, std::uint32_t *, std::int32_t, std::uint64_t) {
    return BPF_MTU_CHK_RET_SUCCESS;
}
long bpf_fib_lookup(void *, struct bpf_fib_lookup *fib, int, std::uint32_t) {
    if (!World::current->answers(fib->ipv4_dst))
        return BPF_FIB_LKUP_RET_NO_NEIGH;
    std::memset(fib->dmac, 2, sizeof(fib->dmac));
    return BPF_FIB_LKUP_RET_SUCCESS;
}

#define OLAF_UNMODELLED(name)                                                                      \
    long name() { return interleave_unmodelled(#name); }
OLAF_UNMODELLED(bpf_skb_change_head)
OLAF_UNMODELLED(bpf_skb_change_proto)
OLAF_UNMODELLED(bpf_skb_adjust_room)
OLAF_UNMODELLED(bpf_skb_vlan_pop)
OLAF_UNMODELLED(bpf_skb_vlan_push)
OLAF_UNMODELLED(bpf_l3_csum_replace)
OLAF_UNMODELLED(bpf_csum_diff)

} // extern "C"
