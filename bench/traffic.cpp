// SPDX-License-Identifier: BSD-2-Clause
#include "traffic.hpp"

#include <cstring>

namespace olaf::bench {

Result<Generator> Generator::make(const Network &network, const bench_config &config) {
    auto skeleton = open<bench_generator>("generator");
    if (!skeleton)
        return std::unexpected(skeleton.error());
    auto &s = *skeleton;
    std::memcpy(&s->rodata->config, &config, sizeof(config));
    if (auto loaded = load(s, "generator"); !loaded)
        return std::unexpected(loaded.error());

    Frame frame = config.xagg ? xagg_frame(0, 1) : olaf_frame(0, 0);
    Frame padded = frame;
    padded.resize(BENCH_OLAF_FRAME);
    if (auto stored = store(bpf_map__fd(s->maps.templates), 0, padded.data()); !stored)
        return std::unexpected(stored.error());
    if (auto stored = store(bpf_map__fd(s->maps.output), 0, &network.gen.ifindex); !stored)
        return std::unexpected(stored.error());
    return Generator(std::move(s), std::move(frame));
}

Result<void> Generator::send(std::uint32_t count) {
    return run_live(bpf_program__fd(skeleton_->progs.generate), frame_, count);
}

Result<Sink> Sink::make(const Network &network, const bench_config &config) {
    auto skeleton = open<bench_sink>("sink");
    if (!skeleton)
        return std::unexpected(skeleton.error());
    auto &s = *skeleton;
    std::memcpy(&s->rodata->config, &config, sizeof(config));
    if (auto loaded = load(s, "sink"); !loaded)
        return std::unexpected(loaded.error());
    auto attached = Attached::make(network.sink, bpf_program__fd(s->progs.sink));
    if (!attached)
        return std::unexpected(attached.error());
    return Sink(std::move(s), std::move(*attached));
}

Arrived Sink::arrived() const {
    const auto *bss = skeleton_->bss;
    return {.frames = bss->frames, .updates = bss->updates, .wrong = bss->wrong};
}

} // namespace olaf::bench
