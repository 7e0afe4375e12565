// SPDX-License-Identifier: BSD-2-Clause
#include "turns.hpp"

#include <cstring>

#include <linux/bpf.h>

namespace olaf::bench {

Result<Turns> Turns::make(int target, const Options &options, bool frags) {
    auto skeleton = open<bench_turns>("turns");
    if (!skeleton)
        return std::unexpected(skeleton.error());
    auto &s = *skeleton;
    bench_rounds rounds{};
    rounds.xagg = options.xagg;
    rounds.children = options.children;
    rounds.chunks = options.chunks;
    rounds.checksum = checksum(BENCH_LANES);
    std::memcpy(rounds.head, options.first.data(),
                static_cast<std::size_t>(options.xagg ? BENCH_XAGG_PAYLOAD : BENCH_OLAF_PAYLOAD));
    std::memcpy(&s->rodata->rounds, &rounds, sizeof rounds);
    if (frags)
        bpf_program__set_flags(s->progs.turns, BPF_F_XDP_HAS_FRAGS);
    if (auto loaded = load(s, "turns"); !loaded)
        return std::unexpected(loaded.error());
    if (auto stored = store(bpf_map__fd(s->maps.target), 0, &target); !stored)
        return std::unexpected(stored.error());
    return Turns(std::move(s));
}

} // namespace olaf::bench
