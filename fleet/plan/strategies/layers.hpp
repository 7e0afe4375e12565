// SPDX-License-Identifier: BSD-2-Clause
// A tree that is built from the workers up.
#pragma once

#include <span>
#include <vector>

#include "strategies.hpp"

namespace olaf::fleet {

class Layers {
  public:
    /// A worker or a node that has no parent yet.
    struct Unit {
        bool is_node = false;
        std::uint32_t index = 0; ///< in the demand's workers, or of a node
    };

    explicit Layers(const Problem &problem);

    [[nodiscard]] std::vector<Unit> workers() const;
    [[nodiscard]] std::uint32_t machine(Unit unit) const;
    /// What it can send: the bandwidth of its host, shared with the host's other workers.
    [[nodiscard]] double rate(Unit unit) const;
    [[nodiscard]] bool is_used(std::uint32_t machine) const { return used[machine]; }
    /// A node on that machine with those children.
    Unit place(std::uint32_t machine, std::span<const Unit> children);
    /// Layers of `candidates` above the units, as long as they raise the rate at which `top` is
    /// reached; returns what is left for `top`.
    std::vector<Unit> fit(std::vector<Unit> units, std::span<const std::uint32_t> candidates,
                          std::uint32_t top);
    /// One node above all of them, if any of the candidates is free, with `fit` below it; returns
    /// that node and what it couldn't take. promotes: else the node among them with the fewest
    /// children takes the others too.
    std::vector<Unit> within(std::vector<Unit> units, std::span<const std::uint32_t> candidates,
                             bool promotes = false);
    /// `within` each rack: what is left once each has its node.
    std::vector<Unit> by_racks();
    /// The root above all that is left.
    [[nodiscard]] Tree finish(std::span<const Unit> left);

  private:
    const Problem &problem;
    void give(std::span<const Unit> children, std::uint32_t node);

    Tree tree;
    std::vector<std::uint32_t> children_of; ///< how many each node has
    std::vector<bool> used;
    std::vector<std::uint32_t> workers_on; ///< of each machine
};

} // namespace olaf::fleet
