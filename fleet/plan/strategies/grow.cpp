// SPDX-License-Identifier: BSD-2-Clause
// SwitchML++, chapter 3: a tree of the network's own switches that grows worker by worker.
#include <algorithm>
#include <functional>
#include <limits>
#include <queue>

#include "olaf/try.hpp"
#include "strategies.hpp"

namespace olaf::fleet {
namespace {

constexpr auto none = std::numeric_limits<std::uint32_t>::max();

/// Switches with how far the tree is from each, kept up to date while it grows. Every switch on the
/// way that aggregates becomes a node, so later ways end there.
class Growth {
  public:
    explicit Growth(const Problem &problem)
        : problem(problem), key(problem.topology.machines.size(), none),
          toward(problem.topology.machines.size(), none), is_node(problem.topology.machines.size()),
          index(problem.topology.machines.size(), none),
          workers_at(problem.topology.machines.size()) {
        for (const auto i : problem.candidates)
            is_node[i] = problem.ways.links_to_vertex(i) == 0; // hosts aren't on any way
        const auto &workers = problem.demand.workers;
        for (std::uint32_t i = 0; i < workers.size(); ++i)
            workers_at[problem.ways.vertex_of(workers[i])].push_back(i);
        tree.nodes.push_back({.machine = problem.root, .parent = 0});
        tree.parent_of_worker.resize(workers.size());
        const auto at = problem.ways.vertex_of(problem.root);
        if (at == problem.root)
            index[at] = 0;
        reach(at, problem.ways.links_to_vertex(problem.root) * step, none);
        spread();
    }

    /// The nearest workers join first, all of a vertex together.
    Tree run() && {
        while (!waiting.empty()) {
            const auto [distance, vertex] = waiting.top();
            waiting.pop();
            if (distance != key[vertex] || workers_at[vertex].empty())
                continue; // it came nearer since, or has joined
            const auto node = join(vertex);
            for (const auto worker : workers_at[vertex])
                tree.parent_of_worker[worker] = node;
            workers_at[vertex].clear();
            spread();
        }
        return std::move(tree);
    }

  private:
    /// A link counts this much, and a switch on the way that aggregates takes 1 off: of ways that
    /// are as long, that with the most places where others may join.
    static constexpr std::uint32_t step = 1024;

    /// The node that workers there send to; all nodes on their way are made.
    std::uint32_t join(std::uint32_t vertex) {
        std::vector<std::uint32_t> way; // nodes to be, from the workers up
        auto at = vertex;
        for (; at != none && index[at] == none; at = toward[at])
            if (is_node[at])
                way.push_back(at);
        auto parent = at == none ? 0 : index[at];
        for (auto i = way.rbegin(); i != way.rend(); ++i) {
            index[*i] = static_cast<std::uint32_t>(tree.nodes.size());
            tree.nodes.push_back({.machine = *i, .parent = parent});
            parent = index[*i];
            reach(*i, 0, none);
        }
        return parent;
    }
    void reach(std::uint32_t vertex, std::uint32_t distance, std::uint32_t from) {
        if (distance >= key[vertex])
            return;
        key[vertex] = distance;
        toward[vertex] = from;
        front.emplace(distance, vertex);
        if (!workers_at[vertex].empty())
            waiting.emplace(distance, vertex);
    }
    void spread() {
        while (!front.empty()) {
            const auto [distance, vertex] = front.top();
            front.pop();
            if (distance != key[vertex])
                continue;
            if (problem.topology.machines[vertex].is_host && vertex != problem.root)
                continue; // hosts don't forward
            const auto next = distance + step - (is_node[vertex] && distance > 0 ? 1 : 0);
            for (const auto &edge : problem.ways.edges(vertex))
                reach(edge.to, next, vertex);
        }
    }

    const Problem &problem;
    Tree tree;
    std::vector<std::uint32_t> key; ///< of each vertex: how far it is from the tree
    std::vector<std::uint32_t>
        toward;                ///< and its neighbour on the way there; none: it is in the tree
    std::vector<bool> is_node; ///< it aggregates
    std::vector<std::uint32_t> index; ///< its node in the tree; none: it isn't one
    std::vector<std::vector<std::uint32_t>> workers_at;   ///< those that haven't joined
    using Step = std::pair<std::uint32_t, std::uint32_t>; ///< distance, vertex
    std::priority_queue<Step, std::vector<Step>, std::greater<>> front, waiting;
};

} // namespace

Result<Found> grow(const Problem &problem) {
    return whole(problem, OLAF_TRY(mended(problem, Growth(problem).run())), "grow");
}

} // namespace olaf::fleet
