// SPDX-License-Identifier: BSD-2-Clause
#include "turns.hpp"

#include <bit>
#include <cstring>

#include <linux/bpf.h>

namespace olaf::bench {

namespace {

bench_rounds told(const Turns::Options &options, const Share &share) {
    bench_rounds rounds{};
    rounds.xagg = options.xagg;
    rounds.children = options.children;
    rounds.floats =
        options.floats ? static_cast<std::uint32_t>(std::countr_zero(options.children)) : 0;
    rounds.chunks = options.chunks;
    rounds.first_child = share.first_child;
    rounds.end_child = share.end_child;
    rounds.first_chunk = share.first_chunk;
    rounds.stride = share.stride;
    rounds.window = share.window;
    rounds.number = share.number;
    rounds.checksum = checksum(BENCH_LANES);
    std::memcpy(rounds.head, options.first.data(),
                static_cast<std::size_t>(options.xagg ? BENCH_XAGG_PAYLOAD : BENCH_OLAF_PAYLOAD));
    return rounds;
}

} // namespace

Result<Turns> Turns::make(int target, const Options &options) {
    auto skeleton = open<bench_turns>("turns");
    if (!skeleton)
        return std::unexpected(skeleton.error());
    auto &s = *skeleton;
    Share share = options.share;
    if (share.end_child == 0)
        share.end_child = options.children;
    const bench_rounds rounds = told(options, share);
    std::memcpy(&s->rodata->rounds, &rounds, sizeof rounds);
    const bool is_xdp = options.hook == Hook::xdp;
    bpf_program__set_autoload(is_xdp ? s->progs.turns_of_tc : s->progs.turns, false);
    if (options.frags)
        bpf_program__set_flags(s->progs.turns, BPF_F_XDP_HAS_FRAGS);
    if (options.other != nullptr &&
        bpf_map__reuse_fd(s->maps.positions,
                          bpf_map__fd(options.other->skeleton_->maps.positions)) != 0)
        return fail("share a BPF map of", "turns", errno);
    if (auto loaded = load(s, "turns"); !loaded)
        return std::unexpected(loaded.error());
    s->bss->next_child = share.first_child;
    s->bss->next_chunk = share.first_chunk;
    const int targets = bpf_map__fd(is_xdp ? s->maps.target : s->maps.tc_target);
    if (auto stored = store(targets, 0, &target); !stored)
        return std::unexpected(stored.error());
    auto *program = is_xdp ? s->progs.turns : s->progs.turns_of_tc;
    return Turns(std::move(s), program);
}

} // namespace olaf::bench
