// SPDX-License-Identifier: BSD-2-Clause
// From a topology and a wish to a plan: which machines may be nodes, which of them is the root, and
// which strategy's trees are taken.
#pragma once

#include <string>
#include <vector>

#include "plan.hpp"

namespace olaf::fleet {

struct Wish {
    std::string strategy = "auto";
    std::string root; ///< "": the one with the least vector_ns, then the first by name
    std::uint64_t bytes = 100'000'000;     ///< of a vector
    std::vector<std::uint64_t> sub_models; ///< their bytes; empty: the vector is one
    std::uint32_t lanes = 0;               ///< 0: as many as a frame of 1,500 bytes has room for
    std::string format = "i32x2";
    std::uint32_t pool = 64;
    std::uint64_t seed = 0;
    std::uint64_t time_limit_ns = 10'000'000'000;
    bool compare = false; ///< a row of every strategy
};

struct Row {
    std::string strategy;
    std::string chosen; ///< whose trees these are: as Found::chosen
    Predicted predicted;
    std::string reason; ///< why it has no plan; "": it has
};

struct Planning {
    Demand demand;
    Plan plan;
    std::string strategy, chosen;
    std::vector<Row> compared;
    std::vector<std::string> notes;
    double planning_ms = 0;
};

/// An error where no valid plan exists, or where the wish names what the topology hasn't.
Result<Planning> make_plan(const Topology &topology, const Wish &wish);

/// `bytes` in so many parts that differ by one byte at most.
std::vector<std::uint64_t> equal_parts(std::uint64_t bytes, std::uint64_t parts);

} // namespace olaf::fleet
