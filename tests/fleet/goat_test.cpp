// SPDX-License-Identifier: BSD-2-Clause
// GOAT's linear program: solved once for the whole model and by classes of workers, it costs what
// the full one costs, with a column for each worker, sub-model and switch; and no assignment costs
// less.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "fleet/plan/linear_program.hpp"
#include "fleet/plan/random.hpp"
#include "fleet/plan/strategies/strategies.hpp"

namespace olaf::fleet::test {
namespace {

/// A tree of switches that all aggregate, hosts drawn along it, and a server. The first so many
/// hosts aggregate too, besides their worker.
struct World {
    Topology topology;
    Demand demand;
    mutable std::set<std::string> remarks;

    World(std::uint64_t seed, std::uint32_t switches, std::uint32_t workers,
          std::vector<std::uint64_t> sub_models, std::uint32_t aggregating = 0) {
        Random random(seed);
        for (std::uint32_t i = 0; i < switches; ++i) {
            Machine machine;
            machine.name = "s" + std::to_string(i);
            machine.aggregates = true;
            machine.memory = machine.memory_free = 10 * (1 + random.below(6));
            topology.machines.push_back(machine);
            if (i > 0)
                topology.links.push_back(
                    {.a = static_cast<std::uint32_t>(random.below(i)), .b = i});
        }
        topology.switches = switches;
        for (std::uint32_t i = 0; i <= workers; ++i) {
            Machine machine;
            machine.is_host = true;
            machine.name = i < workers ? "h" + std::to_string(i) : "server";
            machine.at = static_cast<std::uint32_t>(random.below(switches));
            machine.workers = i < workers ? 1 : 0;
            machine.aggregates = i == workers || i < aggregating;
            machine.memory = machine.memory_free = 30;
            topology.machines.push_back(machine);
        }
        demand.workers = topology.workers();
        demand.sub_models = std::move(sub_models);
        demand.bytes =
            std::accumulate(demand.sub_models.begin(), demand.sub_models.end(), std::uint64_t{0});
        demand.deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    }

    [[nodiscard]] Problem problem(Ways &ways) const {
        Problem made{.topology = topology,
                     .ways = ways,
                     .demand = demand,
                     .root = static_cast<std::uint32_t>(topology.machines.size() - 1),
                     .candidates = {},
                     .levels = {},
                     .remarks = remarks};
        for (std::uint32_t i = 0; i < made.root; ++i)
            if (topology.machines[i].aggregates)
                made.candidates.push_back(i);
        return made;
    }
};

struct Links {
    std::vector<std::vector<double>>
        to;                 ///< of each worker to each switch, and to the root at the end
    std::vector<double> up; ///< of each switch to the root
};

Links links_of(const Problem &problem) {
    Links links;
    for (const auto s : problem.candidates)
        links.up.push_back(problem.ways.between(s, problem.root).links);
    for (const auto host : problem.demand.workers) {
        auto &row = links.to.emplace_back();
        for (const auto s : problem.candidates)
            row.push_back(problem.ways.between(host, s).links);
        row.push_back(problem.ways.between(host, problem.root).links);
    }
    return links;
}

/// Eq. 1 as it is written.
double full_program(const Problem &problem) {
    const auto links = links_of(problem);
    const auto switches = problem.candidates.size();
    LinearProgram program;
    std::vector<LinearProgram::Row> rooms;
    for (std::size_t s = 0; s < switches; ++s)
        rooms.push_back(
            {.least = 0,
             .most = static_cast<double>(problem.topology.machines[problem.candidates[s]].memory),
             .terms = {}});
    for (const auto bytes : problem.demand.sub_models) {
        const auto b = static_cast<double>(bytes);
        std::vector<int> x;
        for (std::size_t s = 0; s < switches; ++s) {
            x.push_back(program.column(b * links.up[s], 1));
            rooms[s].terms.push_back({x.back(), b});
        }
        for (const auto &row : links.to) {
            LinearProgram::Row one{.least = 1, .most = 1, .terms = {}};
            for (std::size_t s = 0; s <= switches; ++s) {
                // A worker can't send to its own host, from which it is no links away.
                const int y = program.column(b * row[s], row[s] == 0 ? 0 : 1);
                one.terms.push_back({y, 1});
                if (s < switches)
                    program.rows.push_back({.least = -1, .most = 0, .terms = {{y, 1}, {x[s], -1}}});
            }
            program.rows.push_back(one);
        }
    }
    program.rows.insert(program.rows.end(), rooms.begin(), rooms.end());
    const auto values = solve(program, 60);
    EXPECT_TRUE(values);
    return std::inner_product(values->begin(), values->end(), program.costs.begin(), 0.0);
}

TEST(Goat, TheProgramForTheWholeModelCostsWhatTheFullOneCosts) {
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
        const World world(seed, 2 + seed % 5, 3 + seed % 9, {10, 20, 5, 15 + seed}, seed % 4);
        Ways ways(world.topology);
        const auto problem = world.problem(ways);
        const auto optimum = goat_optimum(problem);
        ASSERT_TRUE(optimum);
        EXPECT_NEAR(*optimum, full_program(problem), 1e-6 * *optimum) << seed;
    }
}

TEST(Goat, NoAssignmentCostsLessAndOneOftenCostsAsMuch) {
    int as_much = 0;
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        const World world(seed, 3, 4, {10, 10, 10});
        Ways ways(world.topology);
        const auto problem = world.problem(ways);
        const auto links = links_of(problem);
        // For each set of switches that a sub-model is taken by, each worker goes to the nearest.
        std::vector<double> of(8);
        for (unsigned set = 0; set < 8; ++set) {
            for (std::size_t s = 0; s < 3; ++s)
                of[set] += (set >> s & 1) != 0 ? 10 * links.up[s] : 0;
            for (const auto &row : links.to) {
                double nearest = row[3];
                for (std::size_t s = 0; s < 3; ++s)
                    if ((set >> s & 1) != 0)
                        nearest = std::min(nearest, row[s]);
                of[set] += 10 * nearest;
            }
        }
        double least = 1e18;
        for (unsigned sets = 0; sets < 512; ++sets) {
            bool fits = true;
            for (std::size_t s = 0; s < 3; ++s) {
                const unsigned taken =
                    (sets >> s & 1) + (sets >> (3 + s) & 1) + (sets >> (6 + s) & 1);
                fits = fits && 10 * taken <= world.topology.machines[s].memory;
            }
            if (fits)
                least = std::min(least, of[sets & 7] + of[sets >> 3 & 7] + of[sets >> 6 & 7]);
        }
        const auto optimum = goat_optimum(problem);
        ASSERT_TRUE(optimum);
        EXPECT_LE(*optimum, least * (1 + 1e-9)) << seed;
        as_much += *optimum > least * (1 - 1e-9) ? 1 : 0;
    }
    EXPECT_GT(as_much, 20);
}

} // namespace
} // namespace olaf::fleet::test
