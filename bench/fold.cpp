// SPDX-License-Identifier: BSD-2-Clause
// What one update costs in the kernel: Google Benchmark over BPF_PROG_TEST_RUN.
// Each case checks the sums it leaves in its map before it is timed. The time is
// the kernel's own, per run; "min" is the figure least disturbed by neighbours.
// With --quick, as the last argument, each case is timed shortly: that it runs.
#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "away.hpp"
#include "fold_cases.hpp"
#include "frame.h"
#include "instructions.hpp"

namespace olaf::bench {
namespace {

/// How long each case is timed.
struct Effort {
    int repetitions = 15;                 ///< at least 2, or there are no statistics
    std::uint32_t most_runs = UINT32_MAX; ///< a repetition
};
constexpr Effort least = {.repetitions = 2, .most_runs = 10'000};

constexpr std::int64_t kib = BENCH_LANES * 8;
constexpr std::int64_t jumbo = BENCH_JUMBO_LANES * 8;

// clang-format off
const std::vector<FoldBenchmark> benchmarks{
    {"cost_nothing",      0, [] { return cost_case("nothing"); }},
    {"cost_clock",        0, [] { return cost_case("clock"); }},
    {"cost_coarse_clock", 0, [] { return cost_case("coarse_clock"); }},
    {"cost_lookup",       0, [] { return cost_case("lookup"); }},
    {"cost_lock",         0, [] { return cost_case("lock"); }},
    {"cost_call",         0, [] { return cost_case("call"); }},
    {"cost_load_headers", 0, [] { return cost_case("load_headers"); }},
    {"cost_add",          0, [] { return cost_case("add_lanes"); }},
    {"cost_add_locked",   0, [] { return cost_case("add_lanes_locked"); }},
    {"cost_add_and_sum",  0, [] { return cost_case("add_and_sum_lanes"); }},
    {"cost_sum",          0, [] { return cost_case("sum_lanes"); }},
    {"parse_drop",      0,     [] { return drop_case("parse_drop", false); }},
    {"vary_parse_drop", 0,     [] { return drop_case("vary_parse_drop", true); }},
    {"xagg_1",          kib,   [] { return xagg_case("xagg_1", 1); }},
    {"xagg_9",          kib,   [] { return xagg_case("xagg_9", 9); }},
    {"xagg_10000",      kib,   [] { return xagg_case("xagg_10000", 10'000); }},
    {"xagg_1000",       kib,   [] { return xagg_case("xagg_1000", 1'000); }},
    {"xagg_100000",     kib,   [] { return xagg_case("xagg_100000", 100'000); }},
    {"memory_9",        kib,   [] { return memory_case("memory_9", 9); }},
    {"memory_1000",     kib,   [] { return memory_case("memory_1000", 1'000); }},
    {"memory_10000",    kib,   [] { return memory_case("memory_10000", 10'000); }},
    {"memory_100000",   kib,   [] { return memory_case("memory_100000", 100'000); }},
    {"memory_timed_10000",     kib, [] { return memory_case("memory_timed_10000", 10'000, "random_add_timed"); }},
    {"memory_exchanged_10000", kib, [] { return memory_case("memory_exchanged_10000", 10'000, "random_add_exchanged"); }},
    {"memory_both_10000",      kib, [] { return memory_case("memory_both_10000", 10'000, "random_add_both"); }},
    {"memory_both_9",          kib, [] { return memory_case("memory_both_9", 9, "random_add_both"); }},
    {"olaf_plain",      kib,   [] { return olaf_case("olaf_plain", 1, BENCH_LANES, false); }},
    {"olaf_1",          kib,   [] { return olaf_case("olaf_1", 1, BENCH_LANES, true); }},
    {"olaf_9",          kib,   [] { return olaf_case("olaf_9", 9, BENCH_LANES, true); }},
    {"olaf_10000",      kib,   [] { return olaf_case("olaf_10000", 10'000, BENCH_LANES, true); }},
    {"olaf_1000",       kib,   [] { return olaf_case("olaf_1000", 1'000, BENCH_LANES, true); }},
    {"olaf_100000",     kib,   [] { return olaf_case("olaf_100000", 100'000, BENCH_LANES, true); }},
    {"olaf_unverified", kib,   [] { return olaf_case("olaf_unverified", 1, BENCH_LANES, false, false); }},
    {"rounds_floor",        0,   [] { return rounds_floor_case("rounds_floor"); }},
    {"rounds_xagg_4",       kib, [] { return rounds_xagg_case("rounds_xagg_4", 4, 64); }},
    {"rounds_xagg_8",       kib, [] { return rounds_xagg_case("rounds_xagg_8", 8, 64); }},
    {"rounds_xagg_4_32768", kib, [] { return rounds_xagg_case("rounds_xagg_4_32768", 4, 32'768); }},
    {"rounds_xagg_4_65536", kib, [] { return rounds_xagg_case("rounds_xagg_4_65536", 4, 65'536); }},
    {"rounds_4",            kib, [] { return rounds_case("rounds_4", {.children = 4, .slots = 64}); }},
    {"rounds_8",            kib, [] { return rounds_case("rounds_8", {.children = 8, .slots = 64}); }},
    {"rounds_4_32768",      kib, [] { return rounds_case("rounds_4_32768", {.children = 4, .slots = 32'768}); }},
    {"rounds_4_65536",      kib, [] { return rounds_case("rounds_4_65536", {.children = 4, .slots = 65'536}); }},
    {"rounds_floats_floor", 0,   [] { return rounds_floor_case("rounds_floats_floor", true); }},
    {"rounds_floats_4",     kib, [] { return rounds_case("rounds_floats_4", {.children = 4, .slots = 64, .floats = true}); }},
    {"rounds_floats_8",     kib, [] { return rounds_case("rounds_floats_8", {.children = 8, .slots = 64, .floats = true}); }},
    {"rounds_multicast_4",  kib, [] { return rounds_case("rounds_multicast_4", {.children = 4, .slots = 64, .by_multicast = true}); }},
    {"rounds_multicast_8",  kib, [] { return rounds_case("rounds_multicast_8", {.children = 8, .slots = 64, .by_multicast = true}); }},
    {"rounds_clones_4",     kib, [] { return rounds_clones_case("rounds_clones_4", 4, away().nowhere); }},
    {"rounds_clones_8",     kib, [] { return rounds_clones_case("rounds_clones_8", 8, away().nowhere); }},
    {"rounds_clones_veth_4", kib, [] { return rounds_clones_case("rounds_clones_veth_4", 4, away().over_veth); }},
    {"rounds_clones_veth_8", kib, [] { return rounds_clones_case("rounds_clones_veth_8", 8, away().over_veth); }},
    {"ack_nothing",     0,     [] { return ack_floor_case(); }},
    {"ack_stamp",       0,     [] { return ack_case("ack_stamp", 0); }},
    {"ack_copy_64",     0,     [] { return ack_case("ack_copy_64", 64); }, 5'000},
    {"olaf_jumbo",      jumbo, [] { return olaf_case("olaf_jumbo", 1, BENCH_JUMBO_LANES, false); }},
    {"olaf_jumbo_unverified", jumbo,
     [] { return olaf_case("olaf_jumbo_unverified", 1, BENCH_JUMBO_LANES, false, false); }},
};
// clang-format on

void time_case(benchmark::State &state, const FoldBenchmark &b, std::uint32_t runs,
               const FoldCase &fold) {
    InstructionCounter instructions;
    for (auto _ : state) {
        instructions.start();
        const auto run = must(test_run(fold.program, fold.frame, runs));
        const auto counted = instructions.stop();
        require(run.verdict == fold.verdict, b.name + ": verdict");
        state.SetIterationTime(run.nanoseconds * 1e-9); // of one update, not of the whole run
        if (counted)
            state.counters["instructions"] = static_cast<double>(*counted) / runs;
    }
    if (b.payload_bytes > 0)
        state.SetBytesProcessed(b.payload_bytes);
}

void add(const FoldBenchmark &b, const Effort &effort) {
    const auto runs = std::min(b.repeat, effort.most_runs);
    auto made = std::make_shared<std::optional<FoldCase>>();
    benchmark::RegisterBenchmark(b.name.c_str(),
                                 [&b, runs, made](benchmark::State &state) {
                                     if (!*made) {
                                         *made = b.make();
                                         (*made)->check();
                                     }
                                     time_case(state, b, runs, **made);
                                     if ((*made)->recheck)
                                         (*made)->recheck();
                                 })
        ->UseManualTime()
        ->Unit(benchmark::kNanosecond)
        ->Iterations(1)
        ->Repetitions(effort.repetitions)
        ->ReportAggregatesOnly()
        ->ComputeStatistics("min", [](const std::vector<double> &times) {
            return *std::min_element(times.begin(), times.end());
        });
}

} // namespace
} // namespace olaf::bench

int main(int argc, char **argv) {
    using namespace olaf::bench;
    const bool quick = argc > 1 && std::strcmp(argv[argc - 1], "--quick") == 0;
    argc -= quick ? 1 : 0;
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv))
        return 2;
    must(own_cpu(0));
    benchmark::AddCustomContext(
        "instructions", InstructionCounter().supported() ? "counted" : "not supported here");
    for (const auto &b : benchmarks)
        add(b, quick ? least : Effort{});
    benchmark::RunSpecifiedBenchmarks();
}
