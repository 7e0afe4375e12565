// SPDX-License-Identifier: BSD-2-Clause
// Runs of a setting: what becomes of given arrivals, and a search for arrivals that break its
// objective.
#pragma once

#include <chrono>
#include <optional>
#include <vector>

#include "model.hpp"

namespace olaf::fleet {

struct Arrival {
    std::size_t cluster = 0; ///< an index of Setting::clusters
    std::uint64_t at_ns = 0;
};

struct Outcome {
    std::vector<std::uint64_t> highest_ns; ///< of each cluster's peaks; 0: it had none
    std::vector<double> mean_ns;           ///< of them
    std::uint64_t lost = 0;

    /// The figure that the objective is about: a peak, a difference of means, or how many were
    /// lost.
    [[nodiscard]] std::uint64_t figure(const Setting &setting) const;
    [[nodiscard]] bool breaks(const Setting &setting) const;
};

/// Olaf queues: one waiting entry for each (cluster, segment), which later updates are folded into;
/// the head is out of reach while it is sent. A departure is late by all of the hop's delay.
/// Arrivals need not be in order; of equal times the earlier in the list comes first, and a
/// departure before both.
Outcome simulate(const Setting &setting, std::vector<Arrival> arrivals);

struct Counterexample {
    std::vector<Arrival> arrivals;
    Outcome outcome;
};
/// Arrivals whose gaps are within each cluster's interval ± jitter, and which break the objective;
/// nothing if none was found until then.
std::optional<Counterexample> search(const Setting &setting, std::uint64_t seed,
                                     std::chrono::steady_clock::time_point until);

} // namespace olaf::fleet
