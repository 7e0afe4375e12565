// SPDX-License-Identifier: BSD-2-Clause
// Whole rounds: what one contribution costs where every result reaches every child, and what one
// costs XAgg's Algorithm 1, which sends each sum to one, by itself or with TC's clones for the rest.
#include <algorithm>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/pkt_cls.h>

#include "aggregates.hpp"
#include "fold_cases.hpp"
#include "round_job.hpp"
#include "turns.hpp"

#include <bench_clones.skel.h>
#include <bench_drop.skel.h>
#include <bench_xagg.skel.h>

namespace olaf::bench {

namespace {

/// Once through the vector and some more: twice through the longest would take too long.
std::uint32_t checked_runs(std::uint32_t children, std::uint32_t chunks) {
    return std::max(160'000u, children * chunks + 28'928);
}

struct XAggRounds {
    Skeleton<bench_xagg> skeleton;
    Turns turns;
};

struct ClonedRounds {
    Skeleton<bench_clones> skeleton;
    Turns turns;
};

struct Rounds {
    RoundJob job;
    Turns turns;
};

/// Every contribution is in, every chunk is complete, and a child is owed one result at most: the
/// frames that carry results are those that bring contributions.
void account(const Rounds &rounds, const std::string &name, std::uint32_t children) {
    const auto made = rounds.turns.contributions();
    const auto now = rounds.job.counters();
    require(now.added == made, name + ": every contribution is added");
    require(now.completed == made / children, name + ": every chunk is complete");
    require(now.riding + children * now.multicast + children >= made,
            name + ": every result leaves");
}

/// Runs the stream while its results are compared.
void check_sums(const Turns &turns, int program, const Frame &first, std::uint32_t runs) {
    turns.check(true);
    must(test_run(program, first, runs));
    turns.check(false);
}

/// What a case of XAgg's folding ends with: its sums are right, one for each chunk.
void check_xagg(const Turns &turns, const std::string &name, int program, const Frame &first,
                std::uint32_t children, std::uint32_t runs) {
    check_sums(turns, program, first, runs);
    require(turns.wrong() == 0, name + ": every result is the sum");
    // The last one is still in the frame.
    require(turns.results(0) + 1 == runs / children, name + ": every chunk has its result");
}

} // namespace

FoldCase rounds_case(const std::string &name, const RoundJob::Options &options) {
    auto job = must(RoundJob::make(options));
    const auto children = options.children;
    const Frame first = job.first_contribution();
    auto turns = must(Turns::make(
        job.program(),
        {.children = children, .chunks = options.slots, .first = first, .floats = options.floats,
         .frags = true}));
    auto rounds = std::make_shared<Rounds>(Rounds{std::move(job), std::move(turns)});
    FoldCase fold{.program = rounds->turns.program(),
                  .frame = first,
                  .verdict = XDP_TX,
                  .owner = rounds};
    fold.check = [=, made = rounds.get(), program = fold.program] {
        const auto runs = checked_runs(children, options.slots);
        check_sums(made->turns, program, first, runs);
        require(made->turns.wrong() == 0, name + ": every result is the sum");
        for (std::uint32_t child = 0; child < children; child++)
            require(made->turns.results(child) + 2 >= runs / children,
                    name + ": every result reaches child " + std::to_string(child));
        account(*made, name, children);
    };
    fold.recheck = [=, made = rounds.get()] { account(*made, name, children); };
    return fold;
}

FoldCase rounds_xagg_case(const std::string &name, std::uint32_t children, std::uint32_t chunks) {
    auto skeleton = must(open<bench_xagg>("xagg"));
    skeleton->rodata->config.children = children;
    size_aggregates(*skeleton, chunks, BENCH_XAGG_ELEMENTS);
    must(load(skeleton, "xagg"));
    const Frame first = xagg_frame(0, 1);
    auto turns = must(Turns::make(
        bpf_program__fd(skeleton->progs.xagg),
        {.xagg = true, .children = children, .chunks = chunks, .first = first}));
    auto rounds = std::make_shared<XAggRounds>(XAggRounds{std::move(skeleton), std::move(turns)});
    FoldCase fold{.program = rounds->turns.program(),
                  .frame = first,
                  .verdict = XDP_TX,
                  .owner = rounds};
    fold.check = [=, made = rounds.get(), program = fold.program] {
        check_xagg(made->turns, name, program, first, children, checked_runs(children, chunks));
    };
    return fold;
}

FoldCase rounds_clones_case(const std::string &name, std::uint32_t children,
                            std::uint32_t ifindex) {
    constexpr std::uint32_t chunks = 64;
    auto skeleton = must(open<bench_clones>("clones"));
    skeleton->rodata->config.children = children;
    skeleton->rodata->config.ifindex = ifindex;
    size_aggregates(skeleton->maps.agg_array, chunks, BENCH_XAGG_ELEMENTS);
    must(load(skeleton, "clones"));
    const Frame first = xagg_frame(0, 1);
    auto turns = must(Turns::make(bpf_program__fd(skeleton->progs.clones),
                                  {.xagg = true,
                                   .children = children,
                                   .chunks = chunks,
                                   .first = first,
                                   .hook = Turns::Hook::tc}));
    auto rounds =
        std::make_shared<ClonedRounds>(ClonedRounds{std::move(skeleton), std::move(turns)});
    FoldCase fold{.program = rounds->turns.program(),
                  .frame = first,
                  .verdict = TC_ACT_SHOT,
                  .owner = rounds};
    fold.recheck = [=, made = rounds.get()] {
        require(made->skeleton->bss->refused == 0, name + ": every clone leaves");
        require(made->skeleton->bss->cloned == made->turns.contributions(),
                name + ": every child has a clone of every result");
    };
    fold.check = [=, made = rounds.get(), program = fold.program, recheck = fold.recheck] {
        check_xagg(made->turns, name, program, first, children, checked_runs(children, chunks));
        recheck();
    };
    return fold;
}

FoldCase rounds_floor_case(const std::string &name, bool floats) {
    auto skeleton = must(open<bench_drop>("drop"));
    must(load(skeleton, "drop"));
    const Frame first = contribution_frame(0, 0, 64, OLAF_FLAG_CHECKSUM);
    auto turns = std::make_shared<Turns>(
        must(Turns::make(bpf_program__fd(skeleton->progs.parse_drop), {.first = first, .floats = floats})));
    FoldCase fold{.program = turns->program(), .frame = first};
    const std::shared_ptr<bench_drop> drop(skeleton.release(), Destroy<bench_drop>());
    fold.owner = std::make_shared<std::pair<decltype(turns), decltype(drop)>>(turns, drop);
    fold.check = [=, made = turns.get(), bss = drop->bss, program = fold.program] {
        const auto before = bss->parsed;
        const auto runs = checked_runs(1, 64);
        must(test_run(program, first, runs));
        require(bss->parsed - before == runs && made->contributions() >= runs,
                name + ": all parsed");
    };
    return fold;
}

} // namespace olaf::bench
