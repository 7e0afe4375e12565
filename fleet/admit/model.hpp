// SPDX-License-Identifier: BSD-2-Clause
// Clusters that send at known intervals, the queues that their updates pass, and what is asked of
// their Age-of-Model. The OLAF paper's section 6 asks it by SMT; docs/fleet.md says what of its
// formulas holds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "olaf/result.hpp"
#include "options.hpp"

namespace olaf::fleet {

/// A queue on the way, and what leaves it.
struct Hop {
    std::vector<std::size_t> clusters; ///< indices of those that pass it
    std::uint64_t rate_bps = 0;
    std::uint64_t places = 0;   ///< updates that may wait, without the one that is being sent
    std::uint64_t delay_ns = 0; ///< that a departure may be late
};

struct Cluster {
    std::uint32_t id = 0;
    std::uint64_t interval_ns = 0, jitter_ns = 0;
    std::vector<std::uint64_t> frames; ///< bytes of each segment's
    std::vector<std::size_t> hops;     ///< indices, in the order of the way
};

struct Objective {
    enum class Kind { peak, fairness, loss } kind = Kind::peak;
    std::uint64_t most_ns = 0; ///< of peak and fairness
};

struct Setting {
    std::vector<Cluster> clusters;
    std::vector<Hop> hops;
    Objective objective;

    /// How long a frame takes at a hop, ns, rounded up.
    [[nodiscard]] std::uint64_t service_ns(std::size_t hop, std::uint64_t bytes) const;
    /// That of the largest frame there: S_h.
    [[nodiscard]] std::uint64_t longest_service_ns(std::size_t hop) const;
    /// Updates that can wait there at once, one of each cluster and segment: N_h.
    [[nodiscard]] std::uint64_t entries(std::size_t hop) const;
    /// Whether none can find the queue full.
    [[nodiscard]] bool never_full() const;
};

/// Of the options; an error names the one that doesn't fit.
Result<Setting> setting_of(const AdmitOptions &options);

struct Term {
    std::string name;
    std::uint64_t ns;
};
/// What a cluster's peaks add up to at most, where no queue is ever full:
/// I + J + Σ over hops of (N_h + 1)·S_h + the hop's delay.
std::vector<Term> most_terms(const Setting &setting, std::size_t cluster);
std::uint64_t most_peak_ns(const Setting &setting, std::size_t cluster);
/// And at least: I − J + Σ over hops of its own frames' time there.
std::uint64_t least_peak_ns(const Setting &setting, std::size_t cluster);

} // namespace olaf::fleet
