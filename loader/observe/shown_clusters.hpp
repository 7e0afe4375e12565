// SPDX-License-Identifier: BSD-2-Clause
// Which clusters have series of their own in `/metrics`: each, or the few that were asked for.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "queue_reader.hpp"

namespace olaf {

/// The first look at a queue chooses those that have received the most messages, and places left
/// go to those that are heard later. None is ever put out again: what is told of all others
/// together then never counts down.
class ShownClusters {
  public:
    /// So many of a queue at most; nothing: each.
    explicit ShownClusters(std::optional<std::uint32_t> most) : most_(most) {}

    /// To be called with every queue at each look; those that have gone are forgotten.
    void choose(const std::vector<Reading> &queues);
    [[nodiscard]] bool has(const Reading &queue, std::uint32_t cluster) const;

  private:
    std::optional<std::uint32_t> most_;
    std::map<std::string, std::set<std::uint32_t>> chosen_; ///< by the queue's identity
};

} // namespace olaf
