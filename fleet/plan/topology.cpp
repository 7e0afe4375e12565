// SPDX-License-Identifier: BSD-2-Clause
#include "topology.hpp"

#include <algorithm>

namespace olaf::fleet {

std::vector<std::uint32_t> Topology::workers() const {
    std::vector<std::uint32_t> found;
    for (std::uint32_t i = 0; i < machines.size(); ++i)
        found.insert(found.end(), machines[i].workers, i);
    return found;
}

Ways::Ways(const Topology &topology) : topology(topology) {
    const auto machines = static_cast<std::uint32_t>(topology.machines.size());
    std::vector<bool> has_links(machines);
    for (const auto &link : topology.links)
        has_links[link.a] = has_links[link.b] = true;
    const auto is_vertex = [&](std::uint32_t i) {
        return !topology.machines[i].is_host || has_links[i];
    };
    std::vector<std::uint32_t> degree(machines + 1);
    const auto each_edge = [&](const auto &use) {
        for (const auto &link : topology.links) {
            use(link.a, link.b, link.latency_ns);
            use(link.b, link.a, link.latency_ns);
        }
        for (std::uint32_t i = 0; i < machines; ++i)
            if (topology.machines[i].is_host && is_vertex(i)) {
                use(i, topology.machines[i].at, 0);
                use(topology.machines[i].at, i, 0);
            }
    };
    each_edge([&](std::uint32_t from, std::uint32_t, std::uint64_t) { ++degree[from + 1]; });
    for (std::uint32_t i = 0; i < machines; ++i)
        degree[i + 1] += degree[i];
    starts = degree;
    joined.resize(starts.back());
    each_edge([&](std::uint32_t from, std::uint32_t to, std::uint64_t latency_ns) {
        joined[degree[from]++] = {to, latency_ns};
    });
    ends.resize(machines);
    for (std::uint32_t i = 0; i < machines; ++i)
        ends[i] = is_vertex(i) ? End{i, 0} : End{topology.machines[i].at, 1};
    found.resize(machines);
    turn_of.resize(machines);
    wanted_in.resize(machines);
}

std::span<const Ways::Edge> Ways::edges(std::uint32_t vertex) const {
    return std::span(joined).subspan(starts[vertex], starts[vertex + 1] - starts[vertex]);
}

template <class Enough> void Ways::search(std::uint32_t from, const Enough &enough) {
    // Breadth first: all of a vertex's ways of that length are known before those behind it are
    // looked at, and so is the least of their latencies.
    std::vector<std::uint32_t> front{from}, next;
    found[from] = {0, 0};
    turn_of[from] = turn;
    for (std::uint32_t links = 1; !front.empty() && !enough(front); ++links) {
        next.clear();
        for (const auto vertex : front) {
            if (topology.machines[vertex].is_host && vertex != from)
                continue;
            for (const auto &edge : edges(vertex)) {
                const Way way{links, found[vertex].latency_ns + edge.latency_ns};
                if (turn_of[edge.to] != turn) {
                    turn_of[edge.to] = turn;
                    found[edge.to] = way;
                    next.push_back(edge.to);
                } else if (found[edge.to].links == links &&
                           way.latency_ns < found[edge.to].latency_ns) {
                    found[edge.to] = way;
                }
            }
        }
        std::swap(front, next);
    }
}

std::vector<Way> Ways::to(std::uint32_t from, std::span<const std::uint32_t> targets) {
    ++turn;
    std::size_t wanted = 0;
    for (const auto target : targets) {
        auto &mark = wanted_in[ends[target].vertex];
        wanted += mark != turn ? 1 : 0;
        mark = turn;
    }
    search(ends[from].vertex, [&](const std::vector<std::uint32_t> &front) {
        for (const auto vertex : front)
            wanted -= wanted_in[vertex] == turn ? 1 : 0;
        return wanted == 0;
    });
    std::vector<Way> ways;
    ways.reserve(targets.size());
    for (const auto target : targets) {
        const auto vertex = ends[target].vertex;
        if (target == from)
            ways.push_back({0, 0});
        else if (turn_of[vertex] != turn)
            ways.emplace_back();
        else
            ways.push_back({found[vertex].links + ends[from].links + ends[target].links,
                            found[vertex].latency_ns});
    }
    return ways;
}

std::vector<std::pair<std::uint32_t, Way>>
Ways::nearest(std::uint32_t from, const std::vector<std::vector<std::uint32_t>> &at,
              std::size_t count) {
    ++turn;
    std::vector<std::pair<std::uint32_t, Way>> ways;
    search(ends[from].vertex, [&](const std::vector<std::uint32_t> &front) {
        for (const auto vertex : front)
            for (const auto machine : at[vertex])
                ways.emplace_back(machine,
                                  Way{found[vertex].links + ends[from].links + ends[machine].links,
                                      found[vertex].latency_ns});
        return ways.size() >= count;
    });
    std::ranges::stable_sort(
        ways, {}, [](const auto &way) { return std::pair(way.second.links, way.first); });
    return ways;
}

std::vector<std::uint32_t> levels_of(const Topology &topology, const Ways &ways) {
    constexpr auto unknown = std::numeric_limits<std::uint32_t>::max();
    std::vector<std::uint32_t> level(topology.machines.size(), unknown), front, next;
    for (std::uint32_t i = 0; i < topology.machines.size(); ++i)
        if (const auto &machine = topology.machines[i]; machine.is_host) {
            level[i] = 0;
            if (level[machine.at] == unknown) {
                level[machine.at] = 0;
                front.push_back(machine.at);
            }
        }
    std::ranges::sort(front);
    for (std::uint32_t at = 1; !front.empty(); ++at) {
        next.clear();
        for (const auto vertex : front)
            for (const auto &edge : ways.edges(vertex))
                if (level[edge.to] == unknown) {
                    level[edge.to] = at;
                    next.push_back(edge.to);
                }
        std::swap(front, next);
    }
    return level;
}

Result<void> require_connected(const Topology &topology) {
    if (topology.machines.empty())
        return {};
    Ways ways(topology);
    std::vector<std::uint32_t> all(topology.machines.size());
    for (std::uint32_t i = 0; i < all.size(); ++i)
        all[i] = i;
    const auto reached = ways.to(0, all);
    for (const auto i : all)
        if (!reached[i].exists())
            return fail("read topology", topology.given, 0, "add the link that is missing to links",
                        "no way leads from " + topology.machines[0].name + " to " +
                            topology.machines[i].name);
    return {};
}

} // namespace olaf::fleet
