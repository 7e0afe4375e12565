// SPDX-License-Identifier: BSD-2-Clause
// A few CPUs, what each does, and the search through all the ways they can get between each other.
#pragma once

#include <functional>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "host.hpp"

namespace olaf::interleave {

using Act = std::function<void(Host &)>;

struct Scenario {
    std::string name;
    olaf_config config = usual_config();
    Act begin = [](Host &) {};  ///< once, before any CPU runs
    std::vector<Act> cpus = {};
    bool token_may_be_lost = false; ///< the scenario loses it, and no arrival replaces it
    unsigned preemptions = 3;
    std::string programs = "sound"; ///< the build that runs
};

/// What gtest shows of a parameter.
inline void PrintTo(const Scenario &scenario, std::ostream *out) { *out << scenario.name; }

struct Report {
    std::uint64_t schedules = 0; ///< run to their end
    std::uint64_t cut_short = 0; ///< led to a state that was known
    std::size_t searches = 1;    ///< begun anew as contended words were found
    std::set<std::uint64_t> outcomes = {}; ///< how they came out
    bool finished = false;       ///< every schedule within the bound was run
    std::string violation = {};  ///< of the first schedule that broke something; empty: none
};

/// Runs every schedule, or until one breaks something, or `most` have been run.
Report explore(const Scenario &scenario, const Programs &programs, const Programs &replacing,
               std::uint64_t most);

} // namespace olaf::interleave
