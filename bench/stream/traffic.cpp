// SPDX-License-Identifier: BSD-2-Clause
#include "traffic.hpp"

#include <cstring>

#include <bpf/bpf.h>

namespace olaf::bench {

namespace {
// What is due leaves at the end of a batch: a short one where so few updates come that it matters.
constexpr std::uint32_t full_batch = 64, paced_batch = 8;
constexpr std::uint64_t few_ns = 2500; // between two
} // namespace

Result<Generator> Generator::make(const Network &network, const bench_config &config) {
    auto skeleton = open<bench_generator>("generator");
    if (!skeleton)
        return std::unexpected(skeleton.error());
    auto &s = *skeleton;
    std::memcpy(&s->rodata->config, &config, sizeof(config));
    if (auto loaded = load(s, "generator"); !loaded)
        return std::unexpected(loaded.error());

    Frame frame = config.xagg ? xagg_frame(0, 1, config.lanes)
                              : olaf_frame(0, 0, config.lanes, {}, config.narrow);
    Frame padded = frame;
    padded.resize(BENCH_MAX_FRAME);
    if (auto stored = store(bpf_map__fd(s->maps.templates), 0, padded.data()); !stored)
        return std::unexpected(stored.error());
    if (auto stored = store(bpf_map__fd(s->maps.output), 0, &network.gen.ifindex); !stored)
        return std::unexpected(stored.error());
    return Generator(std::move(s), std::move(frame),
                     config.interval_ns > few_ns ? paced_batch : full_batch);
}

void Generator::start(int cpu) {
    const int program = bpf_program__fd(skeleton_->progs.generate);
    sending_.start(
        cpu, [program, frame = frame_, batch = batch_] { return run_live(program, frame, batch); });
}

Result<Sink> Sink::make(const Network &network, const bench_config &config) {
    auto skeleton = open<bench_sink>("sink");
    if (!skeleton)
        return std::unexpected(skeleton.error());
    auto &s = *skeleton;
    std::memcpy(&s->rodata->config, &config, sizeof(config));
    if (config.stamped)
        bpf_map__set_max_entries(s->maps.ages, config.clusters);
    if (auto loaded = load(s, "sink"); !loaded)
        return std::unexpected(loaded.error());
    auto attached = Attached::make(network.sink, bpf_program__fd(s->progs.sink));
    if (!attached)
        return std::unexpected(attached.error());
    return Sink(std::move(s), std::move(*attached));
}

Arrived Sink::arrived() const {
    Arrived sum;
    for (const auto &cpu : skeleton_->bss->arrived) {
        sum.frames += cpu.frames;
        sum.updates += cpu.updates;
        sum.wrong += cpu.wrong;
    }
    return sum;
}

std::vector<std::uint64_t> Sink::latency() const {
    return {std::begin(skeleton_->bss->latency), std::end(skeleton_->bss->latency)};
}

std::vector<std::uint64_t> Sink::folds() const {
    return {std::begin(skeleton_->bss->folds), std::end(skeleton_->bss->folds)};
}

bench_age Sink::age(std::uint32_t cluster) const {
    bench_age age{};
    bpf_map_lookup_elem(bpf_map__fd(skeleton_->maps.ages), &cluster, &age);
    return age;
}

} // namespace olaf::bench
