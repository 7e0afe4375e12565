// SPDX-License-Identifier: BSD-2-Clause
// How fast a gradient becomes a payload and back, checksum lane included. Bytes per
// second are of float32, and each case checks its result before it is timed.
#include <benchmark/benchmark.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include <olaf/encoder.hpp>

namespace {

using olaf::Format;

// One 1500-byte frame, one jumbo frame and a model far beyond L2, in elements.
constexpr std::int64_t kSizes[] = {354, 2200, 4 << 20};

olaf::Packing packing_of(Format format) {
    // Gradients are in (-1, 1): scales that use most of each format's range.
    if (format == Format::i16x4)
        return {.format = format, .scale = 2000.0, .max_count = 16};
    return {.format = format, .scale = 65536.0, .max_count = OLAF_DEFAULT_MAX_COUNT};
}

struct Payload {
    std::vector<float> gradient;
    std::vector<float> result;
    std::vector<std::uint64_t> lanes; // checksum lane last
    std::span<std::uint64_t> data;

    Payload(Format format, std::size_t elements)
        : gradient(elements), result(elements), lanes(olaf::lanes_for(format, elements) + 1),
          data(lanes.data(), lanes.size() - 1) {
        std::mt19937 random(6523);
        std::uniform_real_distribution<float> uniform(-1.0F, 1.0F);
        for (float &g : gradient)
            g = uniform(random);
    }
};

bool round_trip_is_right(const olaf::Packing &packing, Payload &payload) {
    const auto report = olaf::pack(packing, payload.gradient, payload.data);
    if (!report || report->clipped != 0 || report->nans != 0)
        return false;
    payload.lanes.back() = olaf::checksum(payload.data);
    std::uint64_t expected = 0;
    for (std::size_t i = 0; i < payload.data.size(); i++)
        expected += (2 * i + 1) * payload.data[i];
    if (payload.lanes.back() != expected ||
        !olaf::unpack(packing.format, 1.0 / packing.scale, payload.data, payload.result))
        return false;
    for (std::size_t i = 0; i < payload.gradient.size(); i++)
        if (std::abs(payload.result[i] - payload.gradient[i]) > 0.5001 / packing.scale)
            return false;
    return true;
}

void report(benchmark::State &state, const Payload &payload) {
    state.SetBytesProcessed(state.iterations() *
                            static_cast<std::int64_t>(payload.gradient.size() * sizeof(float)));
}

void pack(benchmark::State &state, Format format) {
    Payload payload(format, static_cast<std::size_t>(state.range(0)));
    const olaf::Packing packing = packing_of(format);
    if (!round_trip_is_right(packing, payload))
        return state.SkipWithError("wrong result");
    for (auto _ : state) {
        benchmark::DoNotOptimize(olaf::pack(packing, payload.gradient, payload.data));
        payload.lanes.back() = olaf::checksum(payload.data);
        benchmark::ClobberMemory();
    }
    report(state, payload);
}

void round_by(benchmark::State &state, Format format, const olaf::Rounding &rounding) {
    Payload payload(format, static_cast<std::size_t>(state.range(0)));
    const olaf::Packing packing = packing_of(format);
    auto encoder = olaf::Encoder::make(packing, rounding, payload.gradient.size());
    // Its own tests say whether it rounds as it should.
    if (!encoder || !encoder->pack(0, payload.gradient, payload.data))
        return state.SkipWithError("cannot pack");
    for (auto _ : state) {
        benchmark::DoNotOptimize(encoder->pack(0, payload.gradient, payload.data));
        payload.lanes.back() = olaf::checksum(payload.data);
        benchmark::ClobberMemory();
    }
    report(state, payload);
}

void unpack(benchmark::State &state, Format format) {
    Payload payload(format, static_cast<std::size_t>(state.range(0)));
    const olaf::Packing packing = packing_of(format);
    if (!round_trip_is_right(packing, payload))
        return state.SkipWithError("wrong result");
    for (auto _ : state) {
        if (olaf::checksum(payload.data) != payload.lanes.back())
            return state.SkipWithError("wrong checksum");
        benchmark::DoNotOptimize(
            olaf::unpack(format, 1.0 / packing.scale, payload.data, payload.result));
        benchmark::ClobberMemory();
    }
    report(state, payload);
}

void sizes(benchmark::internal::Benchmark *benchmark) {
    for (const std::int64_t size : kSizes)
        benchmark->Arg(size);
}

BENCHMARK_CAPTURE(pack, i32x2, Format::i32x2)->Apply(sizes);
BENCHMARK_CAPTURE(pack, i16x4, Format::i16x4)->Apply(sizes);
BENCHMARK_CAPTURE(pack, i64x1, Format::i64x1)->Apply(sizes);
constexpr olaf::Rounding kStochastic = {.stochastic = true, .seed = 1};
constexpr olaf::Rounding kFeedback = {.error_feedback = true};
constexpr olaf::Rounding kBoth = {.stochastic = true, .error_feedback = true, .seed = 1};
BENCHMARK_CAPTURE(round_by, i32x2_stochastic, Format::i32x2, kStochastic)->Apply(sizes);
BENCHMARK_CAPTURE(round_by, i16x4_stochastic, Format::i16x4, kStochastic)->Apply(sizes);
BENCHMARK_CAPTURE(round_by, i16x4_feedback, Format::i16x4, kFeedback)->Apply(sizes);
BENCHMARK_CAPTURE(round_by, i16x4_both, Format::i16x4, kBoth)->Apply(sizes);
BENCHMARK_CAPTURE(unpack, i32x2, Format::i32x2)->Apply(sizes);
BENCHMARK_CAPTURE(unpack, i16x4, Format::i16x4)->Apply(sizes);
BENCHMARK_CAPTURE(unpack, i64x1, Format::i64x1)->Apply(sizes);

} // namespace

BENCHMARK_MAIN();
