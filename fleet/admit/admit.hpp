// SPDX-License-Identifier: BSD-2-Clause
// The verdict: whether clusters may share queues under an objective.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "simulation.hpp"

namespace olaf::fleet {

/// What would be admitted by the closed bound if it alone were changed; nothing: it alone can't.
struct Nearest {
    std::optional<std::uint64_t> interval_ns; ///< of the cluster that breaks it
    std::optional<std::uint64_t> rate_bps;    ///< of the slowest hop, the others as much faster
    std::optional<std::uint64_t> places;      ///< of each hop
    std::uint32_t cluster = 0;                ///< whose interval
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

/// By the closed bound; where that doesn't decide, by a search for a counterexample; then by Z3.
Verdict admit(const Setting &setting, std::uint64_t seed, std::uint64_t time_limit_ns);

nlohmann::ordered_json verdict_json(const Setting &setting, const Verdict &verdict);
std::string verdict_text(const Setting &setting, const Verdict &verdict);

} // namespace olaf::fleet
