// SPDX-License-Identifier: BSD-2-Clause
#include "vary.hpp"

#include <cstring>

#include <linux/bpf.h>

namespace olaf::bench {

Result<Vary> Vary::make(int target, const Options &options) {
    auto skeleton = open<bench_vary>("vary");
    if (!skeleton)
        return std::unexpected(skeleton.error());
    auto &s = *skeleton;
    std::memcpy(&s->rodata->config, &options.config, sizeof(options.config));
    if (options.frags)
        bpf_program__set_flags(s->progs.vary, BPF_F_XDP_HAS_FRAGS);
    if (options.agg_array >= 0) {
        if (const int error = bpf_map__reuse_fd(s->maps.agg_array, options.agg_array); error != 0)
            return fail("share map", "agg_array", -error);
    }
    if (auto loaded = load(s, "vary"); !loaded)
        return std::unexpected(loaded.error());
    if (auto stored = store(bpf_map__fd(s->maps.target), 0, &target); !stored)
        return std::unexpected(stored.error());
    return Vary(std::move(s));
}

} // namespace olaf::bench
