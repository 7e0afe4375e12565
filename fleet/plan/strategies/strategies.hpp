// SPDX-License-Identifier: BSD-2-Clause
// Where nodes go: a function for each strategy. Each gets the root, and returns a tree for each
// sub-model, or why there is none. docs/fleet.md says which is for what.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "fleet/plan/plan.hpp"

namespace olaf::fleet {

/// Above so many workers `fit` and `kary` first place a node in each rack, and then place the
/// racks. `rack` does so at any number. `grow` and `goat` take all workers of a switch together at
/// any number; `flat` and `smallest-ip` look for no place.
inline constexpr std::size_t most_one_by_one = 2000;

struct Problem {
    const Topology &topology;
    Ways &ways;
    const Demand &demand;
    std::uint32_t root = 0;
    std::vector<std::uint32_t>
        candidates; ///< machines that may be nodes, without the root; strongest first
    std::vector<std::uint32_t> levels; ///< of each machine: levels_of()
    std::set<std::string> &remarks;    ///< notes that hold whichever plan is taken in the end

    [[nodiscard]] double usable(std::uint32_t machine) const {
        return topology.machines[machine].usable_bps();
    }
};

struct Found {
    std::vector<Tree> trees;          ///< no two of them are equal
    std::vector<std::uint64_t> bytes; ///< of each tree's shard
    std::string chosen;               ///< the strategy whose trees these are
    std::vector<std::string> notes;
};

/// XAgg's exit: all workers at the root.
Result<Found> flat(const Problem &problem);
/// XAgg, section V: the k-ary tree with b of the first server in all layers, best of k = 2 … 5.
Result<Found> kary(const Problem &problem);
/// Layer by layer the largest rate that the candidates can give, with the fewest of them.
Result<Found> fit(const Problem &problem);
/// A node in each rack, then in each pod, then in the core; `fit` within each.
Result<Found> rack(const Problem &problem);
/// SwitchML++: the way from each worker joins the tree at the nearest node.
Result<Found> grow(const Problem &problem);
/// iSwitch, section 3.4: each node sends to the one with the smallest address above it.
Result<Found> smallest_ip(const Problem &problem);
/// GOAT, Eq. 1 with KRGS and repair.
Result<Found> goat(const Problem &problem);
/// What Eq. 1 costs at least, bytes × links: the optimum of the linear program, before rounding.
Result<double> goat_optimum(const Problem &problem);
/// The same with Eq. 4 as it is printed, for GOAT's figures.
Result<Found> goat_max(const Problem &problem);

/// "cannot plan STRATEGY: REASON".
std::unexpected<Error> no_plan(const std::string &strategy, std::string reason,
                               std::string hint = {});

/// "NAME would have COUNT children, and a node has 256 at most".
std::unexpected<Error> too_many_children(const std::string &name, std::size_t count);

/// One tree for the whole vector.
Found whole(const Problem &problem, Tree tree, std::string chosen);

/// What a strategy made, valid: no node above its own host's worker, no more than 256 children, no
/// node but the root with fewer than two.
Result<Tree> mended(const Problem &problem, Tree tree);

} // namespace olaf::fleet
