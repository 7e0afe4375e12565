// SPDX-License-Identifier: BSD-2-Clause
#include "fold_cases.hpp"

#include <cstring>

#include <bench_drop.skel.h>
#include <bench_xagg.skel.h>
#include <bpf/bpf.h>

#include "vary.hpp"

namespace olaf::bench {

namespace {

constexpr std::uint32_t checked_runs = 10'000;
constexpr std::int64_t kib = BENCH_LANES * 8;

struct Drop {
    Skeleton<bench_drop> skeleton;
    Vary vary;
};

struct XAgg {
    Skeleton<bench_xagg> skeleton;
    Vary vary;
};

/// After any number of folds into any aggregates, each element is exactly `counter` times one's.
void check_xagg(const XAgg &xagg, const FoldCase &fold, std::uint32_t aggregates) {
    must(test_run(fold.program, fold.frame, checked_runs));
    std::uint32_t folded = 0;
    for (std::uint32_t idx = 0; idx < aggregates; ++idx) {
        xagg_aggregate aggregate{};
        bpf_map_lookup_elem(bpf_map__fd(xagg.skeleton->maps.agg_array), &idx, &aggregate);
        const Frame one = xagg_frame(idx, 1);
        for (std::uint32_t i = 0; i < BENCH_XAGG_ELEMENTS; ++i) {
            std::uint32_t element = 0;
            std::memcpy(&element, &one[BENCH_XAGG_PAYLOAD + i * 4], 4);
            require(static_cast<std::uint32_t>(aggregate.grad[i]) == element * aggregate.counter,
                    fold.name + ": element " + std::to_string(i));
        }
        folded += aggregate.counter;
    }
    require(folded == checked_runs, fold.name + ": every run folded");
}

} // namespace

void add_drop_cases(std::vector<FoldCase> &cases) {
    auto skeleton = must(open<bench_drop>("drop"));
    must(load(skeleton, "drop"));
    const int parse_drop = bpf_program__fd(skeleton->progs.parse_drop);
    auto vary = must(Vary::make(parse_drop, {.config = config_for(false, 9, 3)}));
    const int through_vary = vary.program();
    auto drop = std::make_shared<Drop>(std::move(skeleton), std::move(vary));

    for (const bool varied : {false, true}) {
        FoldCase fold{.name = varied ? "vary_parse_drop" : "parse_drop",
                      .program = varied ? through_vary : parse_drop,
                      .frame = olaf_frame(0, 0),
                      .owner = drop};
        fold.check = [drop = drop.get(), name = fold.name, program = fold.program,
                      frame = fold.frame] {
            const auto before = drop->skeleton->bss->parsed;
            must(test_run(program, frame, checked_runs));
            require(drop->skeleton->bss->parsed - before == checked_runs, name + ": all parsed");
        };
        cases.push_back(std::move(fold));
    }
}

FoldCase xagg_case(std::uint32_t aggregates) {
    auto skeleton = must(open<bench_xagg>("xagg"));
    skeleton->rodata->config.children = ~0u; // never complete: the fold path only
    must(load(skeleton, "xagg"));
    auto vary = must(Vary::make(bpf_program__fd(skeleton->progs.xagg),
                                {.config = config_for(true, aggregates, 32),
                                 .agg_array = bpf_map__fd(skeleton->maps.agg_array)}));
    const int program = vary.program();
    auto xagg = std::make_shared<XAgg>(std::move(skeleton), std::move(vary));
    FoldCase fold{.name = "xagg_" + std::to_string(aggregates),
                  .program = program,
                  .frame = xagg_frame(0, 1),
                  .payload_bytes = kib,
                  .owner = xagg};
    // Checked once, before any timed run has been counted.
    fold.check = [xagg = xagg.get(), copy = fold, aggregates] { check_xagg(*xagg, copy, aggregates); };
    return fold;
}

std::vector<FoldCase> make_fold_cases() {
    std::vector<FoldCase> cases;
    add_drop_cases(cases);
    for (const std::uint32_t aggregates : {1u, 9u, 10'000u})
        cases.push_back(xagg_case(aggregates));
    cases.push_back(olaf_case("olaf_plain", 1, BENCH_LANES, false));
    for (const std::uint32_t clusters : {1u, 9u, 10'000u})
        cases.push_back(olaf_case("olaf_" + std::to_string(clusters), clusters, BENCH_LANES, true));
    cases.push_back(olaf_case("olaf_jumbo", 1, BENCH_JUMBO_LANES, false));
    return cases;
}

} // namespace olaf::bench
