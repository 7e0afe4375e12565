// SPDX-License-Identifier: BSD-2-Clause
// GOAT, section IV: which sub-model is summed at which switch, by a linear program and rounding.
//
// Eq. 1, the least traffic: min Σ_g b(g)·[Σ_w Σ_s y(w,g,s)·D(w,s) + Σ_s x(g,s)·D(s,α)], where each
// worker's sub-model goes to one place (Σ_s y = 1, the root α among them), only to a switch that
// was taken for it (y ≤ x), and a switch holds what it takes (Σ_g x·b(g) ≤ B(s)).
//
// A sub-model for each and all of them at once cost the same: the mean of any solution, weighted by
// b(g), is one for the whole model and costs as much; and each g may copy that one. So the program
// is solved for the whole model alone, and workers that are as far from everything are one column.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "fleet/plan/linear_program.hpp"
#include "fleet/plan/random.hpp"
#include "olaf/try.hpp"
#include "strategies.hpp"

namespace olaf::fleet {
namespace {

enum class Objective { least_traffic, as_printed };

/// Workers with the same distance to every switch and to the root.
struct Class {
    std::vector<std::uint32_t> workers;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> to; ///< switch, links to it
    std::uint32_t to_root = 0;
};

/// Of a program with more pairs than this each class looks at its nearest switches alone.
constexpr std::size_t most_pairs = 400'000;
constexpr std::size_t nearest = 11;

constexpr double tiny = 1e-9;

struct Distances {
    std::vector<Class> classes;
    std::vector<std::uint32_t> to_root; ///< of each switch
    bool restricted = false;            ///< each class knows its nearest switches alone
};

Distances distances(const Problem &problem) {
    const auto &workers = problem.demand.workers;
    const auto switches = problem.candidates.size();
    Distances found;
    for (const auto &way : problem.ways.to(problem.root, problem.candidates))
        found.to_root.push_back(way.links);
    // All hosts of a switch are as far from everything, so one of them stands for all. But a host
    // that may itself be a node, or is the root, is nearer to that, and stands for itself alone.
    constexpr auto none = std::numeric_limits<std::uint32_t>::max();
    std::vector<bool> apart(problem.topology.machines.size());
    apart[problem.root] = true;
    for (const auto candidate : problem.candidates)
        apart[candidate] = true;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::uint32_t>> at;
    for (std::uint32_t i = 0; i < workers.size(); ++i) {
        const auto host = workers[i];
        at[{problem.ways.vertex_of(host), apart[host] ? host : none}].push_back(i);
    }
    std::vector<std::uint32_t> hosts;
    for (const auto &[vertex, who] : at)
        hosts.push_back(workers[who.front()]);
    const auto from_root = problem.ways.to(problem.root, hosts);
    found.restricted = at.size() * switches > most_pairs;
    if (found.restricted) {
        std::vector<std::vector<std::uint32_t>> near(problem.topology.machines.size());
        std::vector<std::uint32_t> number(problem.topology.machines.size());
        for (std::uint32_t s = 0; s < switches; ++s) {
            near[problem.ways.vertex_of(problem.candidates[s])].push_back(problem.candidates[s]);
            number[problem.candidates[s]] = s;
        }
        for (std::size_t i = 0; auto &[vertex, who] : at) {
            const auto host = hosts[i];
            Class fresh{.workers = std::move(who), .to = {}, .to_root = from_root[i++].links};
            // One more than that, since its own host doesn't count.
            for (const auto &[machine, way] : problem.ways.nearest(host, near, nearest + 1))
                if (machine != host && fresh.to.size() < nearest)
                    fresh.to.emplace_back(number[machine], way.links);
            found.classes.push_back(std::move(fresh));
        }
        return found;
    }
    std::map<std::vector<std::uint32_t>, Class> by_distance;
    for (std::size_t i = 0; auto &[vertex, who] : at) {
        std::vector<std::uint32_t> links;
        for (const auto &way : problem.ways.to(hosts[i], problem.candidates))
            links.push_back(way.links);
        links.push_back(from_root[i++].links);
        auto &same =
            by_distance.try_emplace(links, Class{.workers = {}, .to = {}, .to_root = links.back()})
                .first->second;
        same.workers.insert(same.workers.end(), who.begin(), who.end());
    }
    for (auto &[links, one] : by_distance) {
        for (std::uint32_t s = 0; s < switches; ++s)
            if (links[s] > 0) // else it is the workers' own host, which can't be their node
                one.to.emplace_back(s, links[s]);
        found.classes.push_back(std::move(one));
    }
    return found;
}

struct Solution {
    std::vector<double> x;              ///< of each switch
    std::vector<std::vector<double>> y; ///< of each class, as Class::to
};

Result<Solution> solved(const Problem &problem, const Distances &distances, Objective objective,
                        double seconds) {
    const bool least = objective == Objective::least_traffic;
    LinearProgram program;
    std::vector<int> x;
    for (std::size_t s = 0; s < problem.candidates.size(); ++s) {
        const auto room = problem.topology.machines[problem.candidates[s]].memory_free;
        const auto most = room == no_limit
                              ? 1.0
                              : std::min(1.0, static_cast<double>(room) /
                                                  static_cast<double>(problem.demand.bytes));
        x.push_back(program.column(distances.to_root[s], most));
    }
    std::vector<std::vector<int>> y;
    for (const auto &one : distances.classes) {
        const auto count = static_cast<double>(one.workers.size());
        LinearProgram::Row sum{.least = 1, .most = 1, .terms = {}};
        auto &columns = y.emplace_back();
        for (const auto &[s, links] : one.to) {
            const int column =
                program.column(least ? count * links : -count * distances.to_root[s], 1);
            columns.push_back(column);
            sum.terms.push_back({column, 1});
            program.rows.push_back({.least = -1, .most = 0, .terms = {{column, 1}, {x[s], -1}}});
        }
        sum.terms.push_back({program.column(least ? count * one.to_root : 0, 1), 1});
        program.rows.push_back(std::move(sum));
    }
    const auto values = OLAF_TRY(solve(program, seconds));
    const auto value = [&](int column) {
        return std::clamp(values[static_cast<std::size_t>(column)], 0.0, 1.0);
    };
    Solution solution;
    for (const auto column : x)
        solution.x.push_back(value(column));
    for (const auto &columns : y) {
        auto &of = solution.y.emplace_back();
        for (const auto column : columns)
            of.push_back(value(column));
    }
    return solution;
}

/// Σ_w Σ_s y·D(w,s) + Σ_s x·D(s,α) of the whole model.
double cost(const Problem &problem, const Distances &distances, const Solution &solution) {
    double sum = 0;
    for (std::size_t s = 0; s < solution.x.size(); ++s)
        sum += solution.x[s] * distances.to_root[s];
    for (std::size_t c = 0; c < distances.classes.size(); ++c) {
        const auto &one = distances.classes[c];
        double to_root = 1, links = 0;
        for (std::size_t i = 0; i < one.to.size(); ++i) {
            to_root -= solution.y[c][i];
            links += solution.y[c][i] * one.to[i].second;
        }
        sum += static_cast<double>(one.workers.size()) * (links + to_root * one.to_root);
    }
    return sum * static_cast<double>(problem.demand.bytes);
}

double seconds_left(const Problem &problem) {
    return std::chrono::duration<double>(problem.demand.deadline - std::chrono::steady_clock::now())
        .count();
}

std::unexpected<Error> out_of_time() {
    return fail("solve", "the linear program", 0, "give a longer --time-limit", "the time ran out");
}

/// KRGS (Algorithm 1): ⌊Σ x⌋ knapsacks of about equal weight, a switch of each drawn by its x.
std::vector<std::uint32_t> drawn_switches(const std::vector<double> &x, Random &random) {
    const auto knapsacks =
        static_cast<std::size_t>(std::floor(std::accumulate(x.begin(), x.end(), 0.0) + tiny));
    std::vector<std::uint32_t> order(x.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, [&](std::uint32_t a, std::uint32_t b) { return x[a] > x[b]; });
    std::vector<std::vector<std::uint32_t>> in(knapsacks);
    std::vector<double> weight(knapsacks);
    std::vector<std::uint32_t> chosen;
    for (const auto s : order)
        if (knapsacks > 0 && x[s] > tiny) {
            const auto lightest =
                static_cast<std::size_t>(std::ranges::min_element(weight) - weight.begin());
            in[lightest].push_back(s);
            weight[lightest] += x[s];
        }
    for (std::size_t i = 0; i < knapsacks; ++i) {
        auto at = random.part() * weight[i];
        for (const auto s : in[i])
            if ((at -= x[s]) < 0 || s == in[i].back()) {
                chosen.push_back(s);
                break;
            }
    }
    std::ranges::sort(chosen);
    return chosen;
}

/// What the switches have taken so far.
struct Taken {
    std::vector<std::uint64_t> bytes, jobs; ///< of each candidate; of each machine
};

/// The repair: a switch that is full gives its place to the emptiest that isn't, or to none.
template <class HasRoom>
std::vector<std::uint32_t> repaired(const std::vector<std::uint32_t> &chosen,
                                    const std::vector<double> &x, const Taken &taken,
                                    const HasRoom &has_room) {
    std::vector<std::uint32_t> kept;
    const auto is_free = [&](std::uint32_t s) {
        return x[s] > tiny && has_room(s) && std::ranges::find(chosen, s) == chosen.end() &&
               std::ranges::find(kept, s) == kept.end();
    };
    for (const auto s : chosen) {
        std::optional<std::uint32_t> place;
        if (has_room(s))
            place = s;
        for (std::uint32_t other = 0; !has_room(s) && other < x.size(); ++other)
            if (is_free(other) && (!place || taken.bytes[other] < taken.bytes[*place]))
                place = other;
        if (place)
            kept.push_back(*place);
    }
    return kept;
}

/// Each worker's sub-model to a switch that was taken, by y/x; the rest to the root.
Tree assigned(const Problem &problem, const Distances &distances, const Solution &solution,
              const std::vector<std::uint32_t> &chosen, Random &random) {
    Tree tree;
    tree.nodes.push_back({.machine = problem.root, .parent = 0});
    std::vector<std::uint32_t> node(problem.candidates.size());
    for (const auto s : chosen) {
        node[s] = static_cast<std::uint32_t>(tree.nodes.size());
        tree.nodes.push_back({.machine = problem.candidates[s], .parent = 0});
    }
    tree.parent_of_worker.resize(problem.demand.workers.size());
    for (std::size_t c = 0; c < distances.classes.size(); ++c) {
        const auto &one = distances.classes[c];
        std::vector<std::pair<std::uint32_t, double>> odds;
        double sum = 0;
        for (std::size_t i = 0; i < one.to.size(); ++i) {
            const auto s = one.to[i].first;
            if (node[s] == 0 || solution.x[s] < tiny)
                continue;
            odds.emplace_back(node[s], solution.y[c][i] / solution.x[s]);
            sum += odds.back().second;
        }
        for (const auto worker : one.workers) {
            auto at = random.part() * std::max(sum, 1.0);
            for (const auto &[which, part] : odds)
                if ((at -= part) < 0) {
                    tree.parent_of_worker[worker] = which;
                    break;
                }
        }
    }
    return tree;
}

/// A tree for each sub-model. Those with the same tree become one shard, which is one job at a
/// node.
Result<Found> rounded(const Problem &problem, const std::string &name, Objective objective) {
    const double left = seconds_left(problem);
    const auto all = distances(problem);
    const auto solution = left > 0 ? solved(problem, all, objective, left) : out_of_time();
    if (!solution) {
        problem.remarks.insert(fmt::format("{}: {}, and rack took the place of its program; {}",
                                           name, solution.error().reason, solution.error().hint));
        return rack(problem);
    }
    Found found{.trees = {}, .bytes = {}, .chosen = name, .notes = {}};
    if (all.restricted)
        found.notes.push_back(fmt::format(
            "{}: each rack's {} nearest nodes were looked at; all would be more than {} pairs",
            name, nearest, most_pairs));
    else if (objective == Objective::least_traffic)
        found.notes.push_back(fmt::format(
            "goat: no assignment costs less than {:.0f} bytes over all links, the optimum of "
            "its linear program",
            std::floor(cost(problem, all, *solution))));
    Random random(problem.demand.seed);
    Taken taken{.bytes = std::vector<std::uint64_t>(problem.candidates.size()),
                .jobs = std::vector<std::uint64_t>(problem.topology.machines.size())};
    const auto has_job = [&](std::uint32_t i) {
        const auto &machine = problem.topology.machines[i];
        return taken.jobs[i] < machine.jobs &&
               (taken.jobs[i] + 1) * problem.demand.shape.pool <= machine.slots;
    };
    std::map<Tree, std::size_t> shard_of;
    for (const auto bytes : problem.demand.sub_models) {
        const auto holds = [&](std::uint32_t s) {
            return taken.bytes[s] + bytes <=
                   problem.topology.machines[problem.candidates[s]].memory_free;
        };
        const auto chosen = drawn_switches(solution->x, random);
        auto kept = repaired(chosen, solution->x, taken, holds);
        auto tree = OLAF_TRY(mended(problem, assigned(problem, all, *solution, kept, random)));
        // A tree that was there before needs no further job.
        if (!shard_of.contains(tree) &&
            !std::ranges::all_of(tree.nodes.begin() + 1, tree.nodes.end(), has_job,
                                 &Tree::Node::machine)) {
            kept = repaired(chosen, solution->x, taken, [&](std::uint32_t s) {
                return holds(s) && has_job(problem.candidates[s]);
            });
            tree = OLAF_TRY(mended(problem, assigned(problem, all, *solution, kept, random)));
        }
        for (const auto s : kept)
            taken.bytes[s] += bytes;
        const auto [shard, is_new] = shard_of.try_emplace(tree, found.trees.size());
        if (is_new) {
            for (const auto &node : tree.nodes)
                ++taken.jobs[node.machine];
            found.trees.push_back(std::move(tree));
            found.bytes.push_back(0);
        }
        found.bytes[shard->second] += bytes;
    }
    return found;
}

} // namespace

Result<Found> goat(const Problem &problem) {
    auto found = rounded(problem, "goat", Objective::least_traffic);
    auto alone = flat(problem);
    if (!alone)
        return found;
    const auto traffic = [&](const Found &one) {
        return planned(problem.topology, problem.ways, problem.demand, one.trees, one.bytes)
            .predicted.traffic_bytes;
    };
    return found && traffic(*found) <= traffic(*alone) ? std::move(found) : std::move(alone);
}

Result<double> goat_optimum(const Problem &problem) {
    const auto all = distances(problem);
    return cost(problem, all,
                OLAF_TRY(solved(problem, all, Objective::least_traffic, seconds_left(problem))));
}

Result<Found> goat_max(const Problem &problem) {
    return rounded(problem, "goat-max", Objective::as_printed);
}

} // namespace olaf::fleet
