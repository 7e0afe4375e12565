// SPDX-License-Identifier: BSD-2-Clause
#include "layers.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace olaf::fleet {
namespace {

/// Children that a machine serves at that rate each.
std::uint32_t served(double usable_bps, double rate_bps) {
    if (usable_bps == unlimited)
        return most_children;
    // A rate that is a part of what the machine has must not miss it by a rounding.
    const auto count = std::floor(usable_bps / rate_bps * (1 + 1e-12));
    return count >= most_children ? most_children : static_cast<std::uint32_t>(count);
}

} // namespace

Layers::Layers(const Problem &problem)
    : problem(problem), used(problem.topology.machines.size()),
      workers_on(problem.topology.machines.size()) {
    tree.nodes.push_back({.machine = problem.root, .parent = 0});
    children_of.push_back(0);
    tree.parent_of_worker.resize(problem.demand.workers.size());
    used[problem.root] = true;
    for (const auto host : problem.demand.workers)
        ++workers_on[host];
}

std::vector<Layers::Unit> Layers::workers() const {
    std::vector<Unit> units(problem.demand.workers.size());
    for (std::uint32_t i = 0; i < units.size(); ++i)
        units[i].index = i;
    return units;
}

std::uint32_t Layers::machine(Unit unit) const {
    return unit.is_node ? tree.nodes[unit.index].machine : problem.demand.workers[unit.index];
}

double Layers::rate(Unit unit) const {
    const auto at = machine(unit);
    if (unit.is_node)
        return problem.usable(at);
    return problem.topology.machines[at].bandwidth_bps / workers_on[at];
}

Layers::Unit Layers::place(std::uint32_t machine, std::span<const Unit> children) {
    const Unit node{.is_node = true, .index = static_cast<std::uint32_t>(tree.nodes.size())};
    tree.nodes.push_back({.machine = machine, .parent = 0});
    children_of.push_back(0);
    used[machine] = true;
    give(children, node.index);
    return node;
}

void Layers::give(std::span<const Unit> children, std::uint32_t node) {
    for (const auto child : children)
        (child.is_node ? tree.nodes[child.index].parent : tree.parent_of_worker[child.index]) =
            node;
    children_of[node] += static_cast<std::uint32_t>(children.size());
}

std::vector<Layers::Unit>
Layers::fit(std::vector<Unit> units, std::span<const std::uint32_t> candidates, std::uint32_t top) {
    std::vector<std::uint32_t> free;
    std::ranges::copy_if(candidates, std::back_inserter(free),
                         [&](std::uint32_t i) { return !used[i] && i != top; });
    while (units.size() > 1 && !free.empty()) {
        // No faster than the slowest of them sends.
        double slowest = unlimited;
        for (const auto unit : units)
            slowest = std::min(slowest, rate(unit));
        const auto children = units.size();
        const auto enough = [&](double rate_bps) {
            std::size_t sum = 0;
            for (const auto i : free)
                if ((sum += served(problem.usable(i), rate_bps)) >= children)
                    return true;
            return false;
        };
        const bool fits = children <= most_children;
        const double alone =
            fits ? std::min(slowest, problem.usable(top) / static_cast<double>(children)) : 0;
        if (fits && (alone >= slowest || served(problem.usable(top), slowest) >= children))
            break;
        // The largest rate at which they take all; where they can't at any, each takes what it may.
        double low = 0, high = slowest;
        if (enough(slowest)) {
            low = slowest;
        } else {
            if (high == unlimited) {
                // Above twice what the fastest of those with a limit can add, they take none.
                high = 0;
                for (const auto i : free)
                    if (problem.usable(i) != unlimited)
                        high = std::max(high, 2 * problem.usable(i));
            }
            for (int i = 0; i < 100; ++i)
                (enough((low + high) / 2) ? low : high) = (low + high) / 2;
        }
        if (fits && low <= alone * (1 + 1e-9))
            break;
        std::vector<std::uint32_t> chosen, room;
        std::size_t sum = 0;
        for (const auto i : free) {
            const auto count = low > 0 ? served(problem.usable(i), low) : most_children;
            if (sum >= children || count < 2)
                break; // those behind it are weaker still
            chosen.push_back(i);
            room.push_back(count);
            sum += count;
        }
        // Each goes to the nearest that has room. Those of a switch are as far from everything.
        std::vector<std::uint32_t> machines(children), vertices, at(children);
        std::map<std::uint32_t, std::uint32_t> number;
        for (std::size_t i = 0; i < children; ++i) {
            machines[i] = machine(units[i]);
            const auto vertex = problem.ways.vertex_of(machines[i]);
            const auto [found, is_new] =
                number.try_emplace(vertex, static_cast<std::uint32_t>(vertices.size()));
            if (is_new)
                vertices.push_back(vertex);
            at[i] = found->second;
        }
        std::vector<std::vector<std::uint16_t>> links;
        for (const auto i : chosen) {
            auto &row = links.emplace_back();
            for (const auto &way : problem.ways.to(i, vertices))
                row.push_back(static_cast<std::uint16_t>(std::min(way.links, 65535U)));
        }
        std::vector<std::vector<Unit>> below(chosen.size());
        std::vector<Unit> next;
        for (std::size_t i = 0; i < children; ++i) {
            std::size_t best = chosen.size();
            for (std::size_t c = 0; c < chosen.size(); ++c)
                if (below[c].size() < room[c] && chosen[c] != machines[i] &&
                    (best == chosen.size() || links[c][at[i]] < links[best][at[i]]))
                    best = c;
            if (best == chosen.size())
                next.push_back(units[i]);
            else
                below[best].push_back(units[i]);
        }
        bool placed = false;
        std::vector<Unit> nodes;
        for (std::size_t c = 0; c < chosen.size(); ++c)
            if (below[c].size() < 2) {
                next.insert(next.end(), below[c].begin(), below[c].end());
            } else {
                nodes.push_back(place(chosen[c], below[c]));
                placed = true;
            }
        nodes.insert(nodes.end(), next.begin(), next.end());
        units = std::move(nodes);
        std::erase_if(free, [&](std::uint32_t i) { return used[i]; });
        if (!placed)
            break;
    }
    return units;
}

std::vector<Layers::Unit> Layers::within(std::vector<Unit> units,
                                         std::span<const std::uint32_t> candidates, bool promotes) {
    const auto top = std::ranges::find_if(candidates, [&](std::uint32_t i) { return !used[i]; });
    if (top == candidates.end() && promotes) {
        const auto children = [&](Unit unit) {
            return unit.is_node ? children_of[unit.index] : most_children;
        };
        const auto best = std::ranges::min_element(units, {}, children);
        if (best == units.end() || children(*best) + 1 > most_children)
            return units;
        std::iter_swap(units.begin(), best);
        const auto taken =
            std::min<std::size_t>(units.size() - 1, most_children - children(units.front()));
        give(std::span(units).subspan(1, taken), units.front().index);
        units.erase(units.begin() + 1, units.begin() + 1 + static_cast<std::ptrdiff_t>(taken));
        return units;
    }
    if (top == candidates.end())
        return units;
    auto left = fit(std::move(units), candidates, *top);
    // Workers of its own host can't be its children.
    auto others =
        std::ranges::stable_partition(left, [&](Unit unit) { return machine(unit) != *top; });
    const auto taken = std::min<std::size_t>(left.size() - others.size(), most_children);
    if (taken < 2)
        return left;
    const auto node = place(*top, std::span(left).first(taken));
    left.erase(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(taken));
    left.insert(left.begin(), node);
    return left;
}

std::vector<Layers::Unit> Layers::by_racks() {
    const auto &machines = problem.topology.machines;
    // A rack is hosts of one site. A switch is in the rack of the hosts that hang on it.
    std::map<std::string_view, std::uint32_t> number;
    std::vector<std::vector<Unit>> units;
    std::vector<std::uint32_t> rack_of(machines.size(), std::numeric_limits<std::uint32_t>::max());
    for (std::uint32_t i = 0; i < machines.size(); ++i)
        if (machines[i].is_host) {
            rack_of[i] =
                number.try_emplace(machines[i].site, static_cast<std::uint32_t>(number.size()))
                    .first->second;
            rack_of[machines[i].at] = rack_of[i];
        }
    units.resize(number.size());
    for (const auto worker : workers())
        units[rack_of[machine(worker)]].push_back(worker);
    std::vector<std::vector<std::uint32_t>> candidates(number.size());
    for (const auto i : problem.candidates)
        if (rack_of[i] < candidates.size())
            candidates[rack_of[i]].push_back(i);
    std::vector<Unit> left;
    for (std::size_t i = 0; i < units.size(); ++i) {
        const auto up = within(std::move(units[i]), candidates[i]);
        left.insert(left.end(), up.begin(), up.end());
    }
    return left;
}

Tree Layers::finish(std::span<const Unit> left) {
    give(left, 0);
    return std::move(tree);
}

} // namespace olaf::fleet
