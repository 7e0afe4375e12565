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
    std::uint64_t rate_bps = 0;
    std::uint64_t places = 0;   ///< updates that may wait, without the one that is being sent
    std::uint64_t delay_ns = 0; ///< that a departure may be late
    std::uint64_t entries = 0;  ///< N_h: segments of all clusters that pass it; each can wait once
    std::uint64_t largest = 0;  ///< bytes of the largest frame among them
};

struct Cluster {
    std::uint32_t id = 0;
    std::uint64_t interval_ns = 0, jitter_ns = 0;
    std::vector<std::uint64_t> frames; ///< bytes of each segment's, the largest first
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
    /// That of the largest frame there, ns: S_h.
    [[nodiscard]] std::uint64_t longest_service_ns(std::size_t hop) const;
    /// Whether no update can find a queue full.
    [[nodiscard]] bool never_full() const;
};

/// What the options describe; an error names the option that doesn't fit. No sum of times in a
/// setting, or in a run of it, passes 64 bits.
Result<Setting> setting_of(const AdmitOptions &options);

struct Term {
    std::string name;
    std::uint64_t ns;
};
/// The highest peak that a cluster can have where no queue is ever full, term by term:
/// I + J + Σ over hops of (N_h + 1)·S_h + the hop's delay.
std::vector<Term> most_terms(const Setting &setting, std::size_t cluster);
/// The sum of these terms, ns; the largest number there is where it doesn't fit 64 bits.
std::uint64_t most_peak_ns(const Setting &setting, std::size_t cluster);
/// The lowest peak that a cluster can have, ns: I − J + Σ over hops of its largest frame's time.
std::uint64_t least_peak_ns(const Setting &setting, std::size_t cluster);

} // namespace olaf::fleet
