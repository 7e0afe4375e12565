// SPDX-License-Identifier: BSD-2-Clause
// Whole rounds: what one contribution costs where every result reaches every child, and what one
// costs XAgg's Algorithm 1, which sends each sum to one.
#include <algorithm>
#include <bit>
#include <cstring>

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <olaf/own.h>
#include <olaf/rounds.h>

#include "aggregates.hpp"
#include "fold_cases.hpp"
#include "loader/datapath/datapath.hpp"
#include "turns.hpp"

#include <bench_drop.skel.h>
#include <bench_xagg.skel.h>

namespace olaf::bench {

namespace {

constexpr std::uint32_t job_id = 7, generation = 100;
/// Once through the vector and some more: twice through the longest would take too long.
std::uint32_t checked_runs(std::uint32_t children, std::uint32_t chunks) {
    return std::max(160'000u, children * chunks + 28'928);
}

struct XAggRounds {
    Skeleton<bench_xagg> skeleton;
    Turns turns;
};

struct Rounds {
    Datapath queue;
    Turns turns;
};

/// The job runs: its children have agreed on where to begin.
void begin(const Datapath &queue, std::uint32_t children, std::uint32_t chunks) {
    olaf_job job{};
    job.setup.id = job_id;
    job.setup.children = children;
    job.setup.threshold = children;
    job.setup.max_count = children;
    job.setup.slots = chunks;
    job.setup.pool = static_cast<std::uint32_t>(std::countr_zero(chunks));
    job.setup.lanes = BENCH_LANES;
    job.setup.shape = OLAF_FLAG_CHECKSUM;
    job.state = OLAF_JOB_RUNNING;
    job.generation = generation;
    job.pool = job.setup.pool;
    must(store(queue.map_fd("olaf_jobs"), 0, &job));
    const std::uint32_t index = 0;
    must(store(queue.map_fd("olaf_job_ids"), job_id, &index));
}

/// What the frames are addressed to is this host's.
void own(const Datapath &queue) {
    const auto address = Addresses{}.destination_ip;
    olaf_own_address own{};
    own.words_be[2] = htonl(0xffff);
    std::memcpy(&own.words_be[3], address.data(), address.size());
    const std::uint32_t unused = 0;
    require(bpf_map_update_elem(queue.map_fd("olaf_own"), &own, &unused, BPF_ANY) == 0,
            "an address of this host is written");
}

olaf_job_counters counters(const Datapath &queue) {
    std::vector<olaf_job_counters> copies(static_cast<std::size_t>(libbpf_num_possible_cpus()));
    const std::uint32_t zero = 0;
    bpf_map_lookup_elem(queue.map_fd("olaf_job_counters"), &zero, copies.data());
    olaf_job_counters sum{};
    for (const auto &copy : copies) {
        sum.added += copy.added;
        sum.completed += copy.completed;
        sum.riding += copy.riding;
    }
    return sum;
}

/// Every contribution is in, every chunk is complete, and a child is owed one result at most: the
/// frames that carry results are those that bring contributions.
void account(const Rounds &rounds, const std::string &name, std::uint32_t children) {
    const auto made = rounds.turns.contributions();
    const auto now = counters(rounds.queue);
    require(now.added == made, name + ": every contribution is added");
    require(now.completed == made / children, name + ": every chunk is complete");
    require(now.riding + children >= made, name + ": every result rides");
}

} // namespace

FoldCase rounds_case(const std::string &name, std::uint32_t children, std::uint32_t chunks) {
    const auto config = must(make_config({.max_clusters = 8,
                                          .max_lanes = BENCH_LANES,
                                          .round_slots = chunks}));
    auto queue = must(Datapath::load(config));
    own(queue);
    begin(queue, children, chunks);
    const Frame first = contribution_frame(job_id, generation, chunks);
    auto turns = must(Turns::make(queue.program_fd("olaf_ingress"),
                                  {.children = children, .chunks = chunks, .first = first}, true));
    auto rounds = std::make_shared<Rounds>(Rounds{std::move(queue), std::move(turns)});
    FoldCase fold{.program = rounds->turns.program(),
                  .frame = first,
                  .verdict = XDP_TX,
                  .owner = rounds};
    fold.check = [=, made = rounds.get(), program = fold.program] {
        const auto runs = checked_runs(children, chunks);
        made->turns.check(true);
        must(test_run(program, first, runs));
        made->turns.check(false);
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
    require(bpf_map__set_max_entries(skeleton->maps.agg_array, chunks) == 0,
            name + ": there is an aggregate for each chunk");
    size_aggregates(*skeleton, chunks, BENCH_XAGG_ELEMENTS);
    must(load(skeleton, "xagg"));
    const Frame first = xagg_frame(0, 1);
    auto turns = must(Turns::make(
        bpf_program__fd(skeleton->progs.xagg),
        {.xagg = true, .children = children, .chunks = chunks, .first = first}, false));
    auto rounds = std::make_shared<XAggRounds>(XAggRounds{std::move(skeleton), std::move(turns)});
    FoldCase fold{.program = rounds->turns.program(),
                  .frame = first,
                  .verdict = XDP_TX,
                  .owner = rounds};
    fold.check = [=, made = rounds.get(), program = fold.program] {
        const auto runs = checked_runs(children, chunks);
        made->turns.check(true);
        must(test_run(program, first, runs));
        made->turns.check(false);
        require(made->turns.wrong() == 0, name + ": every result is the sum");
        // The last one is still in the frame.
        require(made->turns.results(0) + 1 == runs / children,
                name + ": every chunk has its result");
    };
    return fold;
}

FoldCase rounds_floor_case(const std::string &name) {
    auto skeleton = must(open<bench_drop>("drop"));
    must(load(skeleton, "drop"));
    const Frame first = contribution_frame(job_id, generation, 64);
    auto turns = std::make_shared<Turns>(
        must(Turns::make(bpf_program__fd(skeleton->progs.parse_drop), {.first = first}, false)));
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
