// SPDX-License-Identifier: BSD-2-Clause
#include "fold_cases.hpp"

#include <cstring>

#include <bench_costs.skel.h>
#include <bench_drop.skel.h>
#include <bench_xagg.skel.h>
#include <bpf/bpf.h>

#include "aggregates.hpp"
#include "vary.hpp"

namespace olaf::bench {

namespace {

constexpr std::uint32_t checked_runs = 10'000;

struct Drop {
    Skeleton<bench_drop> skeleton;
    Vary vary;
};

struct XAgg {
    Skeleton<bench_xagg> skeleton;
    Vary vary;
};

/// After any number of folds into any aggregates, each element is exactly `counter` times one's.
void check_xagg(const std::string &name, int agg_array, std::uint32_t aggregates) {
    std::uint32_t folded = 0;
    for (std::uint32_t idx = 0; idx < aggregates; ++idx) {
        xagg_aggregate aggregate{};
        bpf_map_lookup_elem(agg_array, &idx, &aggregate);
        const Frame one = xagg_frame(idx, 1);
        for (std::uint32_t i = 0; i < BENCH_XAGG_ELEMENTS; ++i) {
            std::uint32_t element = 0;
            std::memcpy(&element, &one[BENCH_XAGG_PAYLOAD + i * 4], 4);
            require(static_cast<std::uint32_t>(aggregate.grad[i]) == element * aggregate.counter,
                    name + ": element " + std::to_string(i));
        }
        folded += aggregate.counter;
    }
    require(folded == checked_runs, name + ": every run folded");
}

} // namespace

FoldCase cost_case(const char *program) {
    auto skeleton = must(open<bench_costs>("costs"));
    must(load(skeleton, "costs"));
    std::shared_ptr<bench_costs> owner(skeleton.release(), Destroy<bench_costs>());
    const int fd = bpf_program__fd(bpf_object__find_program_by_name(owner->obj, program));
    return {.program = fd, .frame = olaf_frame(0, 0), .check = [] {}, .owner = owner};
}

FoldCase memory_case(const std::string &name, std::uint32_t entries, const char *program) {
    auto skeleton = must(open<bench_costs>("costs"));
    bpf_map__set_max_entries(skeleton->maps.values, entries);
    skeleton->rodata->random_entries = entries;
    must(load(skeleton, "costs"));
    std::shared_ptr<bench_costs> owner(skeleton.release(), Destroy<bench_costs>());
    const int fd = bpf_program__fd(bpf_object__find_program_by_name(owner->obj, program));
    FoldCase fold{.program = fd, .frame = olaf_frame(0, 0), .owner = owner};
    fold.check = [name, bss = owner->bss, program = fold.program, frame = fold.frame] {
        const auto before = bss->added;
        must(test_run(program, frame, checked_runs));
        require(bss->added - before == checked_runs, name + ": all added");
    };
    return fold;
}

FoldCase drop_case(const std::string &name, bool varied) {
    auto skeleton = must(open<bench_drop>("drop"));
    must(load(skeleton, "drop"));
    const int parse_drop = bpf_program__fd(skeleton->progs.parse_drop);
    auto vary = must(Vary::make(parse_drop, {.config = config_for(false, 9, 3)}));
    const int through_vary = vary.program();
    auto drop = std::make_shared<Drop>(std::move(skeleton), std::move(vary));

    FoldCase fold{
        .program = varied ? through_vary : parse_drop, .frame = olaf_frame(0, 0), .owner = drop};
    fold.check = [name, bss = drop->skeleton->bss, program = fold.program, frame = fold.frame] {
        const auto before = bss->parsed;
        must(test_run(program, frame, checked_runs));
        require(bss->parsed - before == checked_runs, name + ": all parsed");
    };
    return fold;
}

FoldCase xagg_case(const std::string &name, std::uint32_t aggregates) {
    auto skeleton = must(open<bench_xagg>("xagg"));
    skeleton->rodata->config.children = ~0u; // never complete: the fold path only
    size_aggregates(*skeleton, aggregates, BENCH_XAGG_ELEMENTS);
    must(load(skeleton, "xagg"));
    auto vary = must(Vary::make(bpf_program__fd(skeleton->progs.xagg),
                                {.config = config_for(true, aggregates, 32),
                                 .agg_array = bpf_map__fd(skeleton->maps.agg_array)}));
    const int program = vary.program();
    auto xagg = std::make_shared<XAgg>(std::move(skeleton), std::move(vary));
    FoldCase fold{.program = program, .frame = xagg_frame(0, 1), .owner = xagg};
    fold.check = [name, map = bpf_map__fd(xagg->skeleton->maps.agg_array), program,
                  frame = fold.frame, aggregates] {
        must(test_run(program, frame, checked_runs));
        check_xagg(name, map, aggregates);
    };
    return fold;
}

} // namespace olaf::bench
