// SPDX-License-Identifier: BSD-2-Clause
// Whether any arrivals can break a bound on peaks, by Z3: of one queue, and at most three clusters.
#pragma once

#include <optional>

#include "simulation.hpp"

namespace olaf::fleet {

enum class Proof {
    holds,        ///< no run breaks the bound
    may_break,    ///< some run does, from some state of the queue: maybe one that no run leads to
    out_of_reach, ///< not a question for Z3, or its time ran out
};
/// Of a peak objective where the queue is never full.
Proof prove(const Setting &setting, std::chrono::steady_clock::time_point until);

/// Arrivals, from an empty queue on, that break it; simulated before they are returned.
std::optional<Counterexample> refute(const Setting &setting,
                                     std::chrono::steady_clock::time_point until);

} // namespace olaf::fleet
