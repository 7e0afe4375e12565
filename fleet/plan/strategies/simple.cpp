// SPDX-License-Identifier: BSD-2-Clause
// The strategies that take no more than a rule: flat, kary, fit, rack and smallest-ip.
#include <arpa/inet.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <tuple>

#include "layers.hpp"
#include "olaf/try.hpp"

namespace olaf::fleet {
namespace {

/// All workers at the root, or the nodes of their racks where they are too many.
std::vector<Layers::Unit> begun(const Problem &problem, Layers &layers) {
    return problem.demand.workers.size() > most_one_by_one ? layers.by_racks() : layers.workers();
}

std::uint64_t vector_ns(const Problem &problem, const Tree &tree) {
    return predict(problem.topology, problem.ways, problem.demand,
                   {ranked(tree, problem.demand.bytes)})
        .vector_ns;
}

/// The k-ary tree for one k.
Tree kary_tree(const Problem &problem, std::vector<std::uint32_t> servers, std::size_t k) {
    Layers layers(problem);
    auto layer = begun(problem, layers);
    const auto round_ns = [&](Layers::Unit unit) {
        return problem.topology.machines[layers.machine(unit)].round_ns;
    };
    // The slowest first: only that gives the tree of XAgg's own testbed.
    std::ranges::stable_sort(layer, [&](Layers::Unit a, Layers::Unit b) {
        return round_ns(a) != round_ns(b) ? round_ns(a) > round_ns(b)
                                          : layers.rate(a) < layers.rate(b);
    });
    std::erase_if(servers, [&](std::uint32_t i) { return layers.is_used(i); });
    std::size_t next_server = 0;
    double b = 0; // bandwidth of a child, of the first server in all layers
    while (layer.size() > k && next_server < servers.size()) {
        std::vector<Layers::Unit> above;
        std::size_t at = 0;
        bool too_weak = false;
        while (at < layer.size() && next_server < servers.size() && !too_weak) {
            const auto usable = problem.usable(servers[next_server]);
            if (b == 0)
                b = usable / static_cast<double>(k);
            const auto room = usable == unlimited ? k
                              : b == unlimited
                                  ? 0
                                  : static_cast<std::size_t>(std::clamp(
                                        std::ceil(usable / b - 0.5), 0.0, static_cast<double>(k)));
            if (room == 0) {
                too_weak = true; // and so are those behind it
                break;
            }
            const auto taken = std::min(room, layer.size() - at);
            above.push_back(
                layers.place(servers[next_server++], std::span(layer).subspan(at, taken)));
            at += taken;
        }
        above.insert(above.end(), layer.begin() + static_cast<std::ptrdiff_t>(at), layer.end());
        const bool smaller = above.size() < layer.size();
        layer = std::move(above);
        if (too_weak || !smaller)
            break;
    }
    return layers.finish(layer);
}

/// Gives all workers a node of the tree, which has none yet: each node but the root gets two
/// children at least, none more than 256, and none a worker of its own host. False: they can't.
bool seat_all(const Problem &problem, Tree &tree, std::size_t hub) {
    const auto &workers = problem.demand.workers;
    const auto nodes = static_cast<std::uint32_t>(tree.nodes.size());
    std::vector<std::size_t> children(nodes), own(problem.topology.machines.size());
    for (std::uint32_t i = 1; i < nodes; ++i)
        ++children[tree.nodes[i].parent];
    const auto is_own = [&](std::uint32_t node, std::uint32_t worker) {
        return tree.nodes[node].machine == workers[worker];
    };
    for (const auto host : workers)
        ++own[host];
    std::vector<bool> is_node(own.size());
    for (const auto &node : tree.nodes)
        is_node[node.machine] = true;
    // Workers of a node's host first, host by host, those of the hub before all.
    std::vector<std::uint32_t> order(workers.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, {}, [&](std::uint32_t worker) {
        const auto host = workers[worker];
        return std::tuple(host != tree.nodes[hub].machine, is_node[host] ? 0 : 1,
                          workers.size() - own[host], host);
    });
    constexpr auto nowhere = std::numeric_limits<std::uint32_t>::max();
    auto &at = tree.parent_of_worker;
    at.assign(workers.size(), nowhere);
    const auto fill_up = [&](std::uint32_t node) {
        for (const auto worker : order) {
            if (children[node] >= 2)
                break;
            if (at[worker] == nowhere && !is_own(node, worker)) {
                at[worker] = node;
                ++children[node];
            }
        }
        return children[node] >= 2;
    };
    if (hub != 0 && !fill_up(static_cast<std::uint32_t>(hub)))
        return false;
    for (std::uint32_t node = 1; node < nodes; ++node)
        if (!fill_up(node))
            return false;
    // Each goes to the node with the fewest children. Where only its own host's has room, it takes
    // the seat of another worker, who goes there.
    std::set<std::pair<std::size_t, std::uint32_t>> open;
    for (std::uint32_t node = 0; node < nodes; ++node)
        if (children[node] < most_children)
            open.emplace(children[node], node);
    std::size_t looked_at = 0;
    auto host = nowhere;
    for (auto worker : order) {
        if (at[worker] != nowhere)
            continue;
        if (workers[worker] != host)
            looked_at = 0;
        host = workers[worker];
        auto room = std::ranges::find_if(
            open, [&](const auto &node) { return !is_own(node.second, worker); });
        if (room == open.end()) {
            room = open.begin();
            if (room == open.end())
                return false;
            const auto other = std::find_if(order.begin() + static_cast<std::ptrdiff_t>(looked_at),
                                            order.end(), [&](std::uint32_t one) {
                                                return at[one] != nowhere &&
                                                       at[one] != room->second &&
                                                       !is_own(room->second, one);
                                            });
            if (other == order.end())
                return false;
            looked_at = static_cast<std::size_t>(other - order.begin()) + 1;
            at[worker] = at[*other];
            worker = *other;
        }
        const auto node = room->second;
        open.erase(room);
        at[worker] = node;
        if (++children[node] < most_children)
            open.emplace(children[node], node);
    }
    return true;
}

/// A tree below this root wherever there is a valid one, however slow. Its nodes are the candidates
/// with the fewest workers of their own, as few as can take all. The hub, the node with the most of
/// its own, is the parent of the other nodes: it can't have those workers, so it has the places.
std::optional<Tree> spread(const Problem &problem) {
    const auto &workers = problem.demand.workers;
    std::vector<std::size_t> own(problem.topology.machines.size());
    for (const auto host : workers)
        ++own[host];
    auto candidates = problem.candidates;
    std::ranges::stable_sort(candidates, {}, [&](std::uint32_t i) { return own[i]; });
    for (std::size_t count = 0; count <= candidates.size(); ++count) {
        std::vector<std::uint32_t> below(candidates.begin(),
                                         candidates.begin() + static_cast<std::ptrdiff_t>(count));
        Tree tree;
        tree.nodes.push_back({.machine = problem.root, .parent = 0});
        std::uint32_t hub = 0;
        if (count > 0 && own[below.back()] > own[problem.root]) {
            hub = 1;
            tree.nodes.push_back({.machine = below.back(), .parent = 0});
            below.pop_back();
        }
        const auto beside_hub =
            most_children * count - count + std::min<std::size_t>(below.size(), most_children);
        if (workers.size() > most_children * (count + 1) - count ||
            own[tree.nodes[hub].machine] > beside_hub)
            continue;
        for (std::uint32_t i = 0; i < below.size(); ++i)
            tree.nodes.push_back({.machine = below[i], .parent = hub + i / most_children});
        if (seat_all(problem, tree, hub))
            return tree;
    }
    return {};
}

} // namespace

Result<Found> flat(const Problem &problem) {
    const auto workers = problem.demand.workers.size();
    if (workers > most_children)
        return too_many_children(problem.topology.machines[problem.root].name, workers);
    Tree tree;
    tree.nodes.push_back({.machine = problem.root, .parent = 0});
    tree.parent_of_worker.resize(workers);
    return whole(problem, OLAF_TRY(mended(problem, std::move(tree))), "flat");
}

Result<Found> kary(const Problem &problem) {
    std::vector<std::uint32_t> servers;
    for (const auto i : problem.candidates) {
        const auto &machine = problem.topology.machines[i];
        const auto used = machine.memory - machine.memory_free;
        if (machine.memory == no_limit ||
            static_cast<double>(used) + static_cast<double>(problem.demand.bytes) <=
                0.8 * static_cast<double>(machine.memory))
            servers.push_back(i);
    }
    Result<Tree> best = no_plan("kary", "no k gives a tree");
    std::pair<std::uint64_t, std::size_t> least;
    for (std::size_t k = 2; k <= 5; ++k) {
        auto tree = mended(problem, kary_tree(problem, servers, k));
        if (!tree) {
            if (!best)
                best = std::move(tree);
            continue;
        }
        const std::pair cost{vector_ns(problem, *tree), tree->nodes.size()};
        if (!best || cost < least) {
            least = cost;
            best = std::move(tree);
        }
    }
    return whole(problem, OLAF_TRY(std::move(best)), "kary");
}

Result<Found> fit(const Problem &problem) {
    Layers layers(problem);
    auto left = layers.fit(begun(problem, layers), problem.candidates, problem.root);
    auto tree = mended(problem, layers.finish(left));
    std::string chosen = "fit";
    if (auto other = kary(problem);
        other && (!tree || vector_ns(problem, other->trees.front()) < vector_ns(problem, *tree))) {
        tree = std::move(other->trees.front());
        chosen = "kary";
    }
    if (!tree)
        if (auto other = spread(problem))
            tree = mended(problem, *std::move(other));
    return whole(problem, OLAF_TRY(std::move(tree)), std::move(chosen));
}

Result<Found> rack(const Problem &problem) {
    const auto &topology = problem.topology;
    // A pod is switches that share a neighbour above.
    std::vector<std::uint32_t> pod(topology.machines.size());
    std::iota(pod.begin(), pod.end(), 0);
    const auto top = [&](std::uint32_t i) {
        while (pod[i] != i)
            i = pod[i] = pod[pod[i]];
        return i;
    };
    for (std::uint32_t i = 0; i < topology.switches; ++i)
        for (const auto &edge : problem.ways.edges(i))
            if (problem.levels[i] == 0 && problem.levels[edge.to] == 1 &&
                edge.to < topology.switches)
                pod[top(i)] = top(edge.to);
    const auto pod_of = [&](std::uint32_t machine) {
        return top(topology.machines[machine].is_host ? topology.machines[machine].at : machine);
    };
    std::vector<std::vector<std::uint32_t>> candidates(topology.machines.size());
    for (const auto i : problem.candidates)
        if (problem.levels[i] <= 1)
            candidates[pod_of(i)].push_back(i);
    // What is above racks takes their sums with the fewest links.
    for (auto &of : candidates)
        std::ranges::stable_sort(of, [&](std::uint32_t a, std::uint32_t b) {
            return problem.usable(a) != problem.usable(b) ? problem.usable(a) > problem.usable(b)
                                                          : problem.levels[a] > problem.levels[b];
        });
    // A rack's node serves its pod too only where the root can't take all of them.
    for (bool promotes = false;; promotes = true) {
        Layers layers(problem);
        std::vector<std::vector<Layers::Unit>> units(topology.machines.size());
        for (const auto unit : layers.by_racks())
            units[pod_of(layers.machine(unit))].push_back(unit);
        std::vector<Layers::Unit> left;
        for (std::size_t i = 0; i < units.size(); ++i) {
            const auto up = layers.within(std::move(units[i]), candidates[i], promotes);
            left.insert(left.end(), up.begin(), up.end());
        }
        left = layers.fit(std::move(left), problem.candidates, problem.root);
        if (left.size() <= most_children || promotes)
            return whole(problem, OLAF_TRY(mended(problem, layers.finish(left))), "rack");
    }
}

Result<Found> smallest_ip(const Problem &problem) {
    const auto &topology = problem.topology;
    std::vector<bool> is_node(topology.machines.size());
    for (const auto i : problem.candidates)
        is_node[i] = true;
    is_node[problem.root] = true;
    // By number, IPv4 before IPv6; those without an address come last, in the FILE's order.
    const auto key = [&](std::uint32_t i) {
        const auto &address = topology.machines[i].address;
        auto words = address.words_be;
        for (auto &word : words)
            word = ntohl(word);
        return std::tuple(address.family == 0, address.family, words, i);
    };
    const auto smaller = [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); };
    constexpr auto none = std::numeric_limits<std::uint32_t>::max();
    // The node with the smallest address among the neighbours above; where none of them is a node,
    // the same of each neighbour's, the smallest first.
    const auto above = [&](std::uint32_t at) {
        std::vector<std::uint32_t> front{at};
        while (!front.empty()) {
            std::vector<std::uint32_t> next;
            auto best = none;
            for (const auto vertex : front)
                for (const auto &edge : problem.ways.edges(vertex))
                    if (edge.to < topology.switches &&
                        problem.levels[edge.to] == problem.levels[vertex] + 1) {
                        if (is_node[edge.to] && (best == none || smaller(edge.to, best)))
                            best = edge.to;
                        next.push_back(edge.to);
                    }
            if (best != none)
                return best;
            std::ranges::sort(next);
            next.erase(std::ranges::unique(next).begin(), next.end());
            front = std::move(next);
        }
        return none;
    };
    Tree tree;
    tree.nodes.push_back({.machine = problem.root, .parent = 0});
    std::vector<std::uint32_t> index(topology.machines.size(), none);
    index[problem.root] = 0;
    // A node of a switch, and those above it as far as the root.
    const auto node_at = [&](std::uint32_t machine) {
        std::vector<std::uint32_t> way;
        while (machine != none && index[machine] == none) {
            way.push_back(machine);
            machine = above(machine);
        }
        auto parent = machine == none ? 0 : index[machine];
        for (auto i = way.rbegin(); i != way.rend(); ++i) {
            index[*i] = static_cast<std::uint32_t>(tree.nodes.size());
            tree.nodes.push_back({.machine = *i, .parent = parent});
            parent = index[*i];
        }
        return parent;
    };
    std::vector<std::optional<std::uint32_t>> node_of(
        topology.machines.size()); // of each rack's workers
    for (const auto host : problem.demand.workers) {
        const auto rack = topology.machines[host].at;
        if (!node_of[rack]) {
            const auto first = is_node[rack] ? rack : above(rack);
            node_of[rack] = first == none ? 0 : node_at(first);
        }
        tree.parent_of_worker.push_back(*node_of[rack]);
    }
    return whole(problem, OLAF_TRY(mended(problem, std::move(tree))), "smallest-ip");
}

} // namespace olaf::fleet
