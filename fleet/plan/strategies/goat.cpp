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

struct Distances {
    std::vector<Class> classes;
    std::vector<std::uint32_t> to_root; ///< of each switch
};

Distances distances(const Problem &problem) {
    const auto &workers = problem.demand.workers;
    const auto switches = problem.candidates.size();
    Distances found;
    for (const auto &way : problem.ways.to(problem.root, problem.candidates))
        found.to_root.push_back(way.links);
    // One host of each switch, and each host with links of its own.
    std::map<std::uint32_t, std::vector<std::uint32_t>> at;
    for (std::uint32_t i = 0; i < workers.size(); ++i)
        at[problem.ways.vertex_of(workers[i])].push_back(i);
    std::vector<std::uint32_t> hosts;
    for (const auto &[vertex, who] : at)
        hosts.push_back(workers[who.front()]);
    const auto from_root = problem.ways.to(problem.root, hosts);
    if (at.size() * switches > most_pairs) {
        std::vector<std::vector<std::uint32_t>> near(problem.topology.machines.size());
        std::vector<std::uint32_t> number(problem.topology.machines.size());
        for (std::uint32_t s = 0; s < switches; ++s) {
            near[problem.ways.vertex_of(problem.candidates[s])].push_back(problem.candidates[s]);
            number[problem.candidates[s]] = s;
        }
        for (std::size_t i = 0; auto &[vertex, who] : at) {
            Class fresh{.workers = std::move(who), .to = {}, .to_root = from_root[i].links};
            const auto ways = problem.ways.nearest(hosts[i++], near, nearest);
            for (std::size_t n = 0; n < std::min(nearest, ways.size()); ++n)
                fresh.to.emplace_back(number[ways[n].first], ways[n].second.links);
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

/// KRGS (Algorithm 1): ⌊Σ x⌋ knapsacks of about equal weight, a switch of each drawn by its x. Then
/// the repair: a switch that is full gives its place to one that isn't, or to none.
std::vector<std::uint32_t> drawn_switches(const Problem &problem, const std::vector<double> &x,
                                          std::uint64_t bytes, std::vector<std::uint64_t> &held,
                                          std::vector<std::uint64_t> &jobs, Random &random) {
    constexpr double tiny = 1e-9;
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
    const auto has_room = [&](std::uint32_t s) {
        const auto &machine = problem.topology.machines[problem.candidates[s]];
        return held[s] + bytes <= machine.memory_free && jobs[s] < machine.jobs &&
               (jobs[s] + 1) * problem.demand.shape.pool <= machine.slots;
    };
    std::ranges::sort(chosen);
    std::vector<std::uint32_t> kept;
    const auto is_free = [&](std::uint32_t s) {
        return x[s] > tiny && has_room(s) && std::ranges::find(chosen, s) == chosen.end() &&
               std::ranges::find(kept, s) == kept.end();
    };
    for (const auto s : chosen) {
        std::optional<std::uint32_t> taken;
        if (has_room(s))
            taken = s;
        for (std::uint32_t other = 0; !has_room(s) && other < x.size(); ++other)
            if (is_free(other) && (!taken || held[other] < held[*taken]))
                taken = other;
        if (taken) {
            held[*taken] += bytes;
            ++jobs[*taken];
            kept.push_back(*taken);
        }
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
            if (node[s] == 0 || solution.x[s] < 1e-9)
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

Result<Found> rounded(const Problem &problem, const std::string &name, Objective objective) {
    const double left = seconds_left(problem);
    const auto all = distances(problem);
    Found found{.trees = {}, .bytes = problem.demand.sub_models, .chosen = name, .notes = {}};
    const auto solution = left > 0 ? solved(problem, all, objective, left)
                                   : fail("solve", "the linear program", 0, "", "the time ran out");
    if (!solution) {
        found = OLAF_TRY(rack(problem));
        found.notes.push_back(
            fmt::format("{}: {}; planned by rack instead", name, solution.error().reason));
        return found;
    }
    if (objective == Objective::least_traffic)
        found.notes.push_back(fmt::format(
            "goat: no assignment costs less than {:.0f} bytes over all links, the optimum of "
            "its linear program",
            std::floor(cost(problem, all, *solution))));
    Random random(problem.demand.seed);
    std::vector<std::uint64_t> held(problem.candidates.size()), jobs(problem.candidates.size());
    for (const auto bytes : problem.demand.sub_models) {
        const auto chosen = drawn_switches(problem, solution->x, bytes, held, jobs, random);
        found.trees.push_back(
            OLAF_TRY(mended(problem, assigned(problem, all, *solution, chosen, random))));
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
