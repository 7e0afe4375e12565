// SPDX-License-Identifier: BSD-2-Clause
// A world with a few CPUs, and the search through all the ways they can get between each other.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

namespace olaf::interleave {

/// What every schedule of a search runs in. What must hold and doesn't is a std::runtime_error.
class Trial {
  public:
    virtual ~Trial() = default;
    /// Once, before any CPU runs: what has happened then is where each schedule begins.
    virtual void begin() = 0;
    /// What the maps don't hold is as it was then. The maps take back what was written by themselves.
    virtual void begin_again() = 0;
    /// What each CPU does.
    virtual std::vector<std::function<void()>> cpus() = 0;
    /// All CPUs have come to rest: checks, and lets the rest happen. Returns how it came out: a number.
    virtual std::uint64_t settle() = 0;
};

struct Report {
    std::uint64_t schedules = 0; ///< run to their end
    std::uint64_t cut_short = 0; ///< led to a state that was known
    std::size_t searches = 1;    ///< begun anew as contended words were found
    std::set<std::uint64_t> outcomes = {}; ///< how they came out
    bool finished = false;       ///< every schedule within the bound was run
    std::string violation = {};  ///< of the first schedule that broke something; empty: none
};

/// Runs every schedule with at most so many preemptions, or until one breaks something, or `most` have
/// been run.
Report explore(Trial &trial, unsigned preemptions, std::uint64_t most);

} // namespace olaf::interleave
