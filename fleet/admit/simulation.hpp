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

/// Of a queue one entry waits for each (cluster, segment), which later updates are folded into; the
/// entry that is being sent is out of reach. A departure is late by all of the hop's delay.
/// Arrivals are in the order of their times. At one time, departures come first, then arrivals as
/// they are listed. Nothing if `until` comes before the run's end; a short run always ends.
std::optional<Outcome> simulate(const Setting &setting, const std::vector<Arrival> &arrivals,
                                std::chrono::steady_clock::time_point until);

/// Arrivals whose gaps are within each cluster's interval ± jitter, and which break the objective.
struct Counterexample {
    std::vector<Arrival> arrivals;
    Outcome outcome;
};

/// Two clusters at their own intervals, for six of the longer one, while the others send nothing.
/// Nothing if that doesn't break the objective, or if `until` comes before its end.
std::optional<Counterexample> plain_run(const Setting &setting, std::size_t one, std::size_t other,
                                        std::chrono::steady_clock::time_point until);

/// Draws arrivals and varies them, for runs that come ever closer to breaking the objective.
/// Nothing if none of them breaks it before `until`.
std::optional<Counterexample> search(const Setting &setting, std::uint64_t seed,
                                     std::chrono::steady_clock::time_point until);

} // namespace olaf::fleet
