// SPDX-License-Identifier: BSD-2-Clause
// What one update costs in the kernel: Google Benchmark over BPF_PROG_TEST_RUN.
// Each case checks the sums it leaves in its map before it is timed. The time is
// the kernel's own, per run; "min" is the figure least disturbed by neighbours.
#include <algorithm>
#include <string>

#include <benchmark/benchmark.h>

#include "fold_cases.hpp"
#include "instructions.hpp"

namespace olaf::bench {
namespace {

constexpr std::uint32_t repeat = 1'000'000;
constexpr int repetitions = 15;

void time_case(benchmark::State &state, const FoldCase &fold) {
    InstructionCounter instructions;
    for (auto _ : state) {
        instructions.start();
        const auto run = must(test_run(fold.program, fold.frame, repeat));
        const auto counted = instructions.stop();
        require(run.verdict == fold.verdict, fold.name + ": verdict");
        state.SetIterationTime(run.nanoseconds * 1e-9); // of one update, not of the whole run
        if (counted)
            state.counters["instructions"] = static_cast<double>(*counted) / repeat;
    }
    if (fold.payload_bytes > 0)
        state.SetBytesProcessed(fold.payload_bytes);
}

void add(const FoldCase &fold) {
    benchmark::RegisterBenchmark(
        fold.name.c_str(), [&fold](benchmark::State &state) { time_case(state, fold); })
        ->UseManualTime()
        ->Unit(benchmark::kNanosecond)
        ->Iterations(1)
        ->Repetitions(repetitions)
        ->ReportAggregatesOnly()
        ->ComputeStatistics("min", [](const std::vector<double> &times) {
            return *std::min_element(times.begin(), times.end());
        });
}

} // namespace
} // namespace olaf::bench

int main(int argc, char **argv) {
    using namespace olaf::bench;
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv))
        return 2;
    must(own_cpu(0));
    benchmark::AddCustomContext("instructions",
                                InstructionCounter().supported() ? "counted" : "not supported here");
    const auto cases = make_fold_cases();
    for (const auto &fold : cases) {
        fold.check();
        add(fold);
    }
    benchmark::RunSpecifiedBenchmarks();
}
