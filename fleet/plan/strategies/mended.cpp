// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>

#include "strategies.hpp"

namespace olaf::fleet {

std::unexpected<Error> no_plan(const std::string &strategy, std::string reason, std::string hint) {
    return fail("plan", strategy, 0, std::move(hint), std::move(reason));
}

std::unexpected<Error> too_many_children(const std::string &name, std::size_t count) {
    return no_plan("a tree",
                   name + " would have " + std::to_string(count) + " children, and a node has " +
                       std::to_string(most_children) + " at most",
                   "let more hosts or switches aggregate");
}

Found whole(const Problem &problem, Tree tree, std::string chosen) {
    Found found{
        .trees = {}, .bytes = {problem.demand.bytes}, .chosen = std::move(chosen), .notes = {}};
    found.trees.push_back(std::move(tree));
    return found;
}

namespace {

/// The tree with lists of children, while these move about.
class Mending {
  public:
    Mending(const Problem &problem, Tree &tree) : problem(problem), tree(tree) {
        nodes_of.resize(tree.nodes.size());
        workers_of.resize(tree.nodes.size());
        gone.resize(tree.nodes.size());
        for (std::uint32_t i = 1; i < tree.nodes.size(); ++i)
            nodes_of[tree.nodes[i].parent].push_back(i);
        for (std::uint32_t i = 0; i < tree.parent_of_worker.size(); ++i)
            workers_of[tree.parent_of_worker[i]].push_back(i);
    }

    Result<void> run() {
        // Each round ends with fewer workers out of place, or with fewer nodes.
        for (std::size_t round = 0; round <= tree.nodes.size() + 2; ++round) {
            const bool moved = free_own_workers();
            if (stuck)
                return no_plan("a tree",
                               "a worker of " + name(*stuck) + " has no other node to send to",
                               "let another host aggregate");
            if (!thin() && !moved && !spill())
                return check();
        }
        return check();
    }

    /// Without the nodes that are gone.
    void compact() {
        std::vector<std::uint32_t> index(tree.nodes.size());
        std::vector<Tree::Node> kept;
        for (std::uint32_t i = 0; i < tree.nodes.size(); ++i)
            if (!gone[i]) {
                index[i] = static_cast<std::uint32_t>(kept.size());
                kept.push_back(tree.nodes[i]);
            }
        for (auto &node : kept)
            node.parent = index[node.parent];
        for (auto &parent : tree.parent_of_worker)
            parent = index[parent];
        tree.nodes = std::move(kept);
    }

  private:
    [[nodiscard]] std::size_t children(std::uint32_t node) const {
        return nodes_of[node].size() + workers_of[node].size();
    }
    [[nodiscard]] std::uint32_t host_of(std::uint32_t worker) const {
        return problem.demand.workers[worker];
    }
    [[nodiscard]] bool may_have(std::uint32_t node, std::uint32_t worker) const {
        return tree.nodes[node].machine != host_of(worker);
    }
    [[nodiscard]] const std::string &name(std::uint32_t node) const {
        return problem.topology.machines[tree.nodes[node].machine].name;
    }
    void give(std::uint32_t worker, std::uint32_t to) {
        tree.parent_of_worker[worker] = to;
        workers_of[to].push_back(worker);
    }
    void give_node(std::uint32_t node, std::uint32_t to) {
        tree.nodes[node].parent = to;
        nodes_of[to].push_back(node);
    }

    /// Workers of a node's own host go up, those of the root's to the node with the fewest
    /// children.
    bool free_own_workers() {
        bool moved = false;
        for (std::uint32_t node = 0; node < tree.nodes.size(); ++node) {
            std::vector<std::uint32_t> own;
            std::erase_if(workers_of[node], [&](std::uint32_t worker) {
                const bool is_own = !may_have(node, worker);
                if (is_own)
                    own.push_back(worker);
                return is_own;
            });
            for (const auto worker : own) {
                moved = true;
                auto to = tree.nodes[node].parent;
                if (node == 0) {
                    for (std::uint32_t other = 1; other < tree.nodes.size(); ++other)
                        if (!gone[other] && (to == 0 || children(other) < children(to)))
                            to = other;
                    if (to == 0) {
                        stuck = node;
                        return true;
                    }
                }
                give(worker, to);
            }
        }
        return moved;
    }

    /// Nodes but the root with fewer than two children go, and their child goes up.
    bool thin() {
        bool went = false;
        for (std::uint32_t node = 1; node < tree.nodes.size(); ++node) {
            if (gone[node] || children(node) >= 2)
                continue;
            const auto up = tree.nodes[node].parent;
            if (!workers_of[node].empty() && !may_have(up, workers_of[node].front())) {
                // It must stay here, so another must come.
                const auto other = std::ranges::find_if(
                    workers_of[up], [&](std::uint32_t worker) { return may_have(node, worker); });
                if (other == workers_of[up].end()) {
                    stuck = up;
                    continue;
                }
                const auto worker = *other;
                workers_of[up].erase(other);
                give(worker, node);
                went = true;
                continue;
            }
            for (const auto worker : workers_of[node])
                give(worker, up);
            for (const auto child : nodes_of[node])
                give_node(child, up);
            workers_of[node].clear();
            nodes_of[node].clear();
            std::erase(nodes_of[up], node);
            gone[node] = true;
            went = true;
        }
        return went;
    }

    /// Children beyond 256 go up: workers first, then nodes. Workers of the parent's own host stay,
    /// and check() refuses the node if they alone are too many.
    bool spill() {
        bool moved = false;
        for (std::uint32_t node = 1; node < tree.nodes.size(); ++node) {
            if (gone[node] || children(node) <= most_children)
                continue;
            const auto up = tree.nodes[node].parent;
            auto beyond = children(node) - most_children;
            moved |= std::erase_if(workers_of[node], [&](std::uint32_t worker) {
                         if (beyond == 0 || !may_have(up, worker))
                             return false;
                         --beyond;
                         give(worker, up);
                         return true;
                     }) > 0;
            for (; beyond > 0 && !nodes_of[node].empty(); --beyond) {
                const auto child = nodes_of[node].back();
                nodes_of[node].pop_back();
                give_node(child, up);
                moved = true;
            }
        }
        return moved;
    }

    [[nodiscard]] Result<void> check() const {
        for (std::uint32_t node = 0; node < tree.nodes.size(); ++node) {
            if (gone[node])
                continue;
            if (children(node) > most_children)
                return too_many_children(name(node), children(node));
            if (node != 0 && children(node) < 2)
                return no_plan("a tree", name(node) + " would have one child",
                               "let more hosts or switches aggregate");
            for (const auto worker : workers_of[node])
                if (!may_have(node, worker))
                    return no_plan("a tree",
                                   "a worker of " + name(node) + " would send to its own host",
                                   "let another host aggregate");
        }
        return {};
    }

    const Problem &problem;
    Tree &tree;
    std::vector<std::vector<std::uint32_t>> nodes_of, workers_of;
    std::vector<bool> gone;
    std::optional<std::uint32_t> stuck; ///< a node whose host's worker can go nowhere
};

} // namespace

Result<Tree> mended(const Problem &problem, Tree tree) {
    Mending mending(problem, tree);
    if (auto done = mending.run(); !done)
        return std::unexpected(std::move(done).error());
    mending.compact();
    return tree;
}

} // namespace olaf::fleet
