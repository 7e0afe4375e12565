// SPDX-License-Identifier: BSD-2-Clause
#include "plan.hpp"

#include <algorithm>
#include <cmath>

namespace olaf::fleet {

Shard ranked(const Tree &tree, std::uint64_t bytes) {
    Shard shard{.bytes = bytes, .nodes = {}, .workers = {}};
    shard.nodes.reserve(tree.nodes.size());
    for (const auto &node : tree.nodes)
        shard.nodes.push_back({.machine = node.machine, .parent = node.parent});
    for (std::size_t i = 1; i < shard.nodes.size(); ++i)
        shard.nodes[i].rank = shard.nodes[shard.nodes[i].parent].children++;
    shard.workers.reserve(tree.parent_of_worker.size());
    for (const auto parent : tree.parent_of_worker)
        shard.workers.push_back({parent, shard.nodes[parent].children++});
    return shard;
}

namespace {

/// Sums and products that end at 2^64 - 1, so that a plan which is slower than that never looks
/// fast.
std::uint64_t plus(std::uint64_t a, std::uint64_t b) {
    std::uint64_t sum = 0;
    return __builtin_add_overflow(a, b, &sum) ? no_limit : sum;
}
std::uint64_t times(std::uint64_t a, std::uint64_t b) {
    std::uint64_t product = 0;
    return __builtin_mul_overflow(a, b, &product) ? no_limit : product;
}
std::uint64_t rounded_up(long double value) {
    return value >= 0x1p64L ? no_limit : static_cast<std::uint64_t>(std::ceil(value));
}

} // namespace

Plan planned(const Topology &topology, Ways &ways, const Demand &demand,
             const std::vector<Tree> &trees, const std::vector<std::uint64_t> &bytes) {
    Plan plan;
    for (std::size_t i = 0; i < trees.size(); ++i)
        plan.shards.push_back(ranked(trees[i], bytes[i]));
    plan.predicted = predict(topology, ways, demand, plan.shards);
    return plan;
}

Predicted predict(const Topology &topology, Ways &ways, const Demand &demand,
                  const std::vector<Shard> &shards) {
    Predicted predicted;
    struct Load {
        std::uint64_t in = 0, out = 0;
        bool node = false;
    };
    std::vector<Load> loads(topology.machines.size());
    std::uint64_t latency_ns = 0;
    for (const auto &shard : shards) {
        // Ways to a node are looked for at once for all of its children.
        std::vector<std::vector<std::uint32_t>> children(shard.nodes.size());
        const auto nodes = static_cast<std::uint32_t>(shard.nodes.size());
        for (std::uint32_t i = 1; i < nodes; ++i)
            children[shard.nodes[i].parent].push_back(i);
        for (std::uint32_t i = 0; i < shard.workers.size(); ++i)
            children[shard.workers[i].node].push_back(nodes + i);
        const auto machine_of = [&](std::uint32_t child) {
            return child < nodes ? shard.nodes[child].machine : demand.workers[child - nodes];
        };
        // From the root down: latency and depth of a node are known before those of its children.
        std::vector<std::uint32_t> order{0};
        std::vector<std::uint64_t> latency(nodes);
        std::vector<std::uint32_t> depth(nodes, 1);
        latency[0] = topology.machines[shard.nodes[0].machine].latency_ns;
        for (std::size_t at = 0; at < order.size(); ++at) {
            const auto node = order[at];
            const auto machine = shard.nodes[node].machine;
            std::vector<std::uint32_t> targets;
            for (const auto child : children[node])
                targets.push_back(machine_of(child));
            const auto found = ways.to(machine, targets);
            for (std::size_t i = 0; i < found.size(); ++i) {
                const auto child = children[node][i];
                predicted.traffic_bytes =
                    plus(predicted.traffic_bytes, times(shard.bytes, found[i].links));
                loads[targets[i]].out += shard.bytes;
                if (child < nodes) {
                    latency[child] =
                        plus(latency[node],
                             found[i].latency_ns + topology.machines[targets[i]].latency_ns);
                    depth[child] = depth[node] + 1;
                    order.push_back(child);
                } else {
                    latency_ns = std::max(latency_ns, plus(latency[node], found[i].latency_ns));
                    predicted.depth = std::max(predicted.depth, depth[node]);
                    predicted.in_network_bytes += node == 0 ? 0 : shard.bytes;
                }
            }
            loads[machine].in += shard.bytes * children[node].size();
            loads[machine].node = true;
            predicted.fan_in =
                std::max(predicted.fan_in, static_cast<std::uint32_t>(children[node].size()));
        }
        predicted.root_bytes += shard.bytes * children[0].size();
    }
    long double longest_ns = 0;
    for (std::size_t i = 0; i < loads.size(); ++i) {
        const auto &machine = topology.machines[i];
        const auto ns = [](std::uint64_t bytes, long double bps) {
            return bytes == 0 ? 0.0L : 8e9L * static_cast<long double>(bytes) / bps;
        };
        longest_ns = std::max({longest_ns, ns(loads[i].out, machine.bandwidth_bps),
                               ns(loads[i].in, machine.bandwidth_bps),
                               ns(loads[i].in, static_cast<long double>(machine.cores_idle) *
                                                   machine.core_rate_bps)});
        predicted.nodes += loads[i].node ? 1 : 0;
    }
    predicted.vector_ns = plus(rounded_up(longest_ns), times(2, latency_ns));
    return predicted;
}

std::vector<std::string> worker_names(const Topology &topology,
                                      const std::vector<std::uint32_t> &workers) {
    std::vector<std::string> names;
    names.reserve(workers.size());
    for (std::size_t i = 0, first = 0; i < workers.size(); ++i) {
        if (workers[i] != workers[first])
            first = i;
        const auto &host = topology.machines[workers[i]];
        names.push_back(host.workers > 1 ? host.name + "/" + std::to_string(i - first) : host.name);
    }
    return names;
}

} // namespace olaf::fleet
