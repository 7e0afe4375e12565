// SPDX-License-Identifier: BSD-2-Clause
#include "choose.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <set>
#include <tuple>

#include "olaf/protocol.h"
#include "olaf/try.hpp"
#include "strategies/strategies.hpp"

namespace olaf::fleet {
namespace {

struct Strategy {
    std::string_view name;
    Result<Found> (*plan)(const Problem &);
    bool automatic;         ///< `auto` looks at it
    bool only_one_by_one;   ///< and only where workers are planned one by one
    std::size_t most_roots; ///< tried where none is named
};

constexpr Strategy strategies[] = {
    {"flat", flat, true, false, 4096},       {"fit", fit, true, false, 64},
    {"rack", rack, true, false, 64},         {"grow", grow, true, false, 64},
    {"kary", kary, true, true, 64},          {"goat", goat, true, true, 4},
    {"goat-max", goat_max, false, false, 4}, {"smallest-ip", smallest_ip, false, false, 64},
};

/// As many as an IPv6 packet of 1,500 bytes carries, as `olaf job set` takes on such a device.
constexpr std::uint32_t usual_lanes = (1500 - 40 - 8 - sizeof(olaf_header)) / 8;

/// Roots that are tried where none is named, times workers: what a second is enough for.
constexpr std::size_t most_work = 400'000;

/// Why a machine can't be a node; "": it can.
std::string unfit(const Machine &machine, const Shape &shape) {
    if (!machine.aggregates)
        return "it doesn't aggregate";
    if (machine.usable_bps() <= 0)
        return "none of its cores is idle";
    if (machine.max_lanes < shape.lanes)
        return fmt::format("its queue takes {} lanes, and a contribution has {}", machine.max_lanes,
                           shape.lanes);
    if (machine.slots < shape.pool)
        return fmt::format("it has {} round slots, and a shard needs {}", machine.slots,
                           shape.pool);
    if (machine.jobs < 1)
        return "it has no place for a job";
    if (machine.memory_free < shape.memory())
        return fmt::format("it has {} bytes of memory, and a shard needs {}", machine.memory_free,
                           shape.memory());
    return "";
}

/// Of how many shards each machine is a node.
std::vector<std::uint64_t> shards_on(const Topology &topology, const Plan &plan) {
    std::vector<std::uint64_t> shards(topology.machines.size());
    for (const auto &shard : plan.shards)
        for (const auto &node : shard.nodes)
            ++shards[node.machine];
    return shards;
}

/// What the trees ask of a machine beyond what mended() looks after: its places for jobs.
Result<void> require_places(const Topology &topology, const Demand &demand, const Plan &plan) {
    const auto shards = shards_on(topology, plan);
    for (std::size_t i = 0; i < shards.size(); ++i) {
        const auto &machine = topology.machines[i];
        if (shards[i] > machine.jobs || shards[i] * demand.shape.pool > machine.slots ||
            (shards[i] > 0 && machine.memory_free / shards[i] < demand.shape.memory()))
            return fail("plan", "", 0, "give fewer --sub-models",
                        fmt::format("{} would have {} shards, and has no room for them",
                                    machine.name, shards[i]));
    }
    return {};
}

class Chooser {
  public:
    Chooser(const Topology &topology, const Demand &demand, const Wish &wish)
        : topology(topology), demand(demand), ways(topology), levels(levels_of(topology, ways)) {
        for (std::uint32_t i = 0; i < topology.machines.size(); ++i)
            if (unfit(topology.machines[i], demand.shape).empty())
                candidates.push_back(i);
        std::ranges::stable_sort(candidates, [&](std::uint32_t a, std::uint32_t b) {
            const auto &x = topology.machines[a], &y = topology.machines[b];
            return std::tuple(y.usable_bps(), y.cores_idle, y.memory_free) <
                   std::tuple(x.usable_bps(), x.cores_idle, x.memory_free);
        });
        roots = candidates;
        if (!wish.root.empty())
            std::erase_if(roots,
                          [&](std::uint32_t i) { return topology.machines[i].name != wish.root; });
        // What is far above the racks has the shortest way to all of them.
        std::ranges::stable_sort(roots, [&](std::uint32_t a, std::uint32_t b) {
            const auto &x = topology.machines[a], &y = topology.machines[b];
            return x.usable_bps() != y.usable_bps() ? x.usable_bps() > y.usable_bps()
                                                    : levels[a] > levels[b];
        });
    }

    struct Best {
        Found found;
        Plan plan;
    };
    /// to_the_end: goes on with further roots until one has a plan, or the time limit ends.
    Result<Best> best_of(const Strategy &strategy, bool to_the_end) {
        Result<Best> best = no_plan("", "no host or switch can be the root",
                                    "let one aggregate that no worker runs on");
        std::string best_name;
        const auto enough =
            std::clamp<std::size_t>(most_work / demand.workers.size(), 4, strategy.most_roots);
        std::size_t tried = 0;
        bool late = false;
        for (const auto root : roots) {
            if (tried >= enough) {
                if (best || !to_the_end)
                    break;
                late = std::chrono::steady_clock::now() > demand.deadline;
                if (late)
                    break;
            }
            Problem problem{.topology = topology,
                            .ways = ways,
                            .demand = demand,
                            .root = root,
                            .candidates = candidates,
                            .levels = levels,
                            .remarks = remarks};
            std::erase(problem.candidates, root);
            auto one = made(strategy, problem);
            const auto &name = topology.machines[root].name;
            if (!one) {
                if (tried == 0)
                    best = std::unexpected(std::move(one).error());
            } else if (!best || std::tuple(one->plan.predicted.vector_ns, name) <
                                    std::tuple(best->plan.predicted.vector_ns, best_name)) {
                best = std::move(one);
                best_name = name;
            }
            ++tried;
        }
        if (late) {
            best.error().hint = "name one with --root, or give a longer --time-limit";
            remarks.insert(fmt::format("{}: the time ran out after {} of {} roots; {}",
                                       strategy.name, tried, roots.size(), best.error().hint));
        }
        if (!best && roots.size() > 1)
            best.error().reason += fmt::format("; {} of {} roots were tried{}", tried, roots.size(),
                                               late ? " when the time ran out" : "");
        return best;
    }

    std::set<std::string> remarks; ///< of all strategies that were looked at

  private:
    Result<Best> made(const Strategy &strategy, const Problem &problem) {
        auto found = OLAF_TRY(strategy.plan(problem));
        auto plan = planned(topology, ways, demand, found.trees, found.bytes);
        OLAF_TRY(require_places(topology, demand, plan));
        return Best{std::move(found), std::move(plan)};
    }

    const Topology &topology;
    const Demand &demand;
    Ways ways;
    std::vector<std::uint32_t> levels, candidates, roots;
};

Result<Demand> demand_of(const Topology &topology, const Wish &wish) {
    Demand demand;
    demand.workers = topology.workers();
    if (demand.workers.empty())
        return fail("plan", topology.given, 0, "give hosts \"workers\": 1", "no host has a worker");
    demand.bytes = wish.bytes;
    demand.sub_models = wish.sub_models.empty() ? std::vector{wish.bytes} : wish.sub_models;
    demand.shape = {.lanes = wish.lanes == 0 ? usual_lanes : wish.lanes,
                    .format = wish.format,
                    .max_count = static_cast<std::uint32_t>(demand.workers.size()),
                    .pool = wish.pool};
    demand.seed = wish.seed;
    demand.deadline =
        std::chrono::steady_clock::now() + std::chrono::nanoseconds(wish.time_limit_ns);
    return demand;
}

/// What a reader must know of the plan besides its figures.
void add_notes(const Topology &topology, Planning &planning) {
    const auto workers = planning.demand.workers.size();
    const auto bits = 30 - static_cast<int>(std::bit_width(workers - 1));
    if (planning.demand.shape.format == "i32x2" && bits < 16)
        planning.notes.push_back(
            fmt::format("i32x2 keeps {} bits of an element where {} workers are summed; "
                        "f32 or i64x1 keep more",
                        bits, workers));
    const auto &predicted = planning.plan.predicted;
    if (predicted.vector_ns == no_limit || predicted.traffic_bytes == no_limit)
        planning.notes.emplace_back("a predicted figure of 2^64 - 1 stands for all above it");
    const auto shards = shards_on(topology, planning.plan);
    const auto most = std::ranges::max_element(shards);
    const auto &machine = topology.machines[static_cast<std::size_t>(most - shards.begin())];
    if (*most > 64 && machine.jobs == no_limit)
        planning.notes.push_back(fmt::format(
            "{} has {} jobs, and a device has places for 64; \"jobs\": 64 plans within that",
            machine.name, *most));
}

} // namespace

std::vector<std::uint64_t> equal_parts(std::uint64_t bytes, std::uint64_t parts) {
    std::vector<std::uint64_t> found;
    for (std::uint64_t i = 0; i < parts; ++i)
        found.push_back(bytes / parts + (i < bytes % parts ? 1 : 0));
    return found;
}

Result<Planning> make_plan(const Topology &topology, const Wish &wish) {
    const auto begun = std::chrono::steady_clock::now();
    Planning planning;
    planning.strategy = wish.strategy;
    planning.demand = OLAF_TRY(demand_of(topology, wish));
    const auto &demand = planning.demand;
    if (!wish.root.empty()) {
        const auto root = std::ranges::find(topology.machines, wish.root, &Machine::name);
        if (root == topology.machines.end())
            return no_plan(wish.strategy, "the topology has no " + wish.root,
                           "name a host or switch of it with --root");
        if (const auto reason = unfit(*root, demand.shape); !reason.empty())
            return no_plan(wish.strategy, wish.root + " can't be the root: " + reason,
                           "name another with --root");
    }
    Chooser chooser(topology, demand, wish);
    const bool is_auto = wish.strategy == "auto";
    // `fit` has a plan wherever there is a valid one, so `auto` tries all roots with that alone.
    const auto decisive = is_auto ? "fit" : wish.strategy;
    Result<Chooser::Best> best = no_plan(wish.strategy, "there is no such strategy");
    for (const auto &strategy : strategies) {
        const bool looked_at = strategy.automatic && (!strategy.only_one_by_one ||
                                                      demand.workers.size() < most_one_by_one);
        const bool wanted = is_auto ? looked_at : strategy.name == wish.strategy;
        if (!wanted && !wish.compare)
            continue;
        const bool decides = strategy.name == decisive && !best;
        auto one = chooser.best_of(strategy, decides);
        if (wish.compare)
            planning.compared.push_back({std::string(strategy.name), one ? one->found.chosen : "",
                                         one ? one->plan.predicted : Predicted{},
                                         one ? "" : one.error().reason});
        const auto cost = [](const Chooser::Best &of) {
            return std::tuple(of.plan.predicted.vector_ns, of.plan.predicted.traffic_bytes,
                              of.plan.predicted.nodes);
        };
        if (wanted && (one ? !best || cost(*one) < cost(*best) : decides))
            best = std::move(one);
    }
    if (!best)
        best.error().object = wish.strategy;
    auto taken = OLAF_TRY(std::move(best));
    planning.plan = std::move(taken.plan);
    planning.chosen = taken.found.chosen;
    planning.notes.assign(chooser.remarks.begin(), chooser.remarks.end());
    std::ranges::move(taken.found.notes, std::back_inserter(planning.notes));
    add_notes(topology, planning);
    planning.planning_ms =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begun).count();
    return planning;
}

} // namespace olaf::fleet
