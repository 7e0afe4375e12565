// SPDX-License-Identifier: BSD-2-Clause
// The verdict: whether clusters may share queues under an objective.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "simulation.hpp"

namespace olaf::fleet {

/// Settings near a rejected one that the closed bound admits. Each differs from it in one thing
/// alone; what has no value was sought in vain.
struct Nearest {
    std::optional<std::uint64_t> interval_ns; ///< of each of these clusters
    std::vector<std::size_t> clusters;        ///< indices; empty without an interval
    std::vector<std::uint64_t> rates_bps;     ///< of each hop, all changed by one factor
    std::optional<std::uint64_t> places;      ///< of each hop
};

struct Verdict {
    enum class Kind { admitted, rejected, unknown } kind = Kind::unknown;
    std::string why;                       ///< in words
    std::optional<std::uint64_t> bound_ns; ///< nothing where a queue can be full
    std::vector<Term> terms;               ///< of the bound
    std::optional<Counterexample> against; ///< of a rejection
    Nearest nearest;                       ///< of a rejection
    double seconds = 0;
};

/// Decides by the closed bound; where that isn't enough, by a short search for a run that breaks
/// the objective, by Z3, and by a search for what is left of the time limit.
Verdict admit(const Setting &setting, std::uint64_t seed, std::uint64_t time_limit_ns);

nlohmann::ordered_json verdict_json(const Setting &setting, const Verdict &verdict);
std::string verdict_text(const Setting &setting, const Verdict &verdict);

} // namespace olaf::fleet
