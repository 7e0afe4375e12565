// SPDX-License-Identifier: BSD-2-Clause
// A plan: for each shard of a training's vector a tree of nodes with the workers below them, and
// what it predicts. docs/fleet.md says when a plan is valid.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "olaf/jobs.h"
#include "topology.hpp"

namespace olaf::fleet {

inline constexpr std::uint32_t most_children = OLAF_RANKS;

/// Of all contributions of a training, the same in all its plans.
struct Shape {
    std::uint32_t lanes = 0;     ///< 8 bytes each
    std::string format;          ///< "i32x2", …
    std::uint32_t max_count = 0; ///< as many as there are workers
    std::uint32_t pool = 0;      ///< chunks that may be under way
    /// Bytes that a node needs for each shard: the lanes of 2 P chunks. Of --round-slots it takes
    /// P.
    [[nodiscard]] std::uint64_t memory() const { return 2 * std::uint64_t{pool} * lanes * 8; }
};

/// What is to be planned.
struct Demand {
    std::vector<std::uint32_t> workers;    ///< the host of each
    std::uint64_t bytes = 0;               ///< of a vector
    std::vector<std::uint64_t> sub_models; ///< their bytes; they add up to `bytes`
    Shape shape;
    std::uint64_t seed = 0;
    std::chrono::steady_clock::time_point deadline; ///< of what may take long
};

/// Who sends to whom, as a strategy makes it: nodes[0] is the root.
struct Tree {
    struct Node {
        std::uint32_t machine = 0;
        std::uint32_t parent = 0; ///< an index of nodes; the root's is its own
        auto operator<=>(const Node &) const = default;
    };
    std::vector<Node> nodes;
    std::vector<std::uint32_t> parent_of_worker; ///< an index of nodes, of each worker
    auto operator<=>(const Tree &) const = default;
};

/// A range of every vector, and its tree with ranks.
struct Shard {
    struct Node {
        std::uint32_t machine = 0, parent = 0, rank = 0, children = 0;
    };
    struct Seat {
        std::uint32_t node = 0, rank = 0;
    };
    std::uint64_t bytes = 0;
    std::vector<Node> nodes; ///< the root first
    std::vector<Seat> workers;
};

/// docs/fleet.md has the formulas. What would be larger is 2^64 - 1.
struct Predicted {
    std::uint64_t vector_ns = 0;        ///< of one vector, at least
    std::uint64_t traffic_bytes = 0;    ///< over all links, on the way up
    std::uint64_t root_bytes = 0;       ///< that the roots receive
    std::uint64_t in_network_bytes = 0; ///< of workers, summed below a root
    std::uint32_t fan_in = 0;           ///< the most children of a node
    std::uint32_t depth = 0;            ///< nodes on the longest way
    std::uint32_t nodes = 0;            ///< machines that are nodes of any shard
    bool operator==(const Predicted &) const = default;
};

struct Plan {
    std::vector<Shard> shards;
    Predicted predicted;
};

/// Gives each child a rank: nodes first, then workers, each in their order.
Shard ranked(const Tree &tree, std::uint64_t bytes);

/// A shard for each tree, with so many bytes of every vector. The trees differ.
Plan planned(const Topology &topology, Ways &ways, const Demand &demand,
             const std::vector<Tree> &trees, const std::vector<std::uint64_t> &bytes);

Predicted predict(const Topology &topology, Ways &ways, const Demand &demand,
                  const std::vector<Shard> &shards);

/// "host3", or "host3/1" of a host with several.
std::vector<std::string> worker_names(const Topology &topology,
                                      const std::vector<std::uint32_t> &workers);

} // namespace olaf::fleet
