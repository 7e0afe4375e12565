// SPDX-License-Identifier: BSD-2-Clause
// The parts of a run that count, added up.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "bench/stream/contender.hpp"

namespace olaf::bench {

/// Everything's counters at one moment.
struct Sample {
    std::chrono::steady_clock::time_point at;
    Figures figures;
    std::uint64_t cpu_ns; ///< that the contender has used, where that is told apart
};

/// What happened in a slice, or in several.
struct Slices {
    double seconds = 0;
    std::uint64_t offered = 0, taken = 0, frames = 0, dropped = 0, superseded = 0, cpu_ns = 0;

    void add(const Sample &a, const Sample &b) {
        seconds += std::chrono::duration<double>(b.at - a.at).count();
        offered += b.figures.offered - a.figures.offered;
        taken += b.figures.taken - a.figures.taken;
        frames += b.figures.frames - a.figures.frames;
        dropped += b.figures.dropped - a.figures.dropped;
        superseded += b.figures.superseded - a.figures.superseded;
        cpu_ns += b.cpu_ns - a.cpu_ns;
    }

    [[nodiscard]] double rate(std::uint64_t Slices::*what) const {
        return static_cast<double>(this->*what) / seconds;
    }
};

/// Did every generator have its CPU from `a` to `b`? The kernel keeps a twentieth of each second
/// for what isn't real-time, on one CPU and then on another. Meanwhile half of the updates come,
/// and as many leave as before: the queue's rate is of time. True where generators aren't told
/// apart.
inline bool all_ran(const Figures &a, const Figures &b) {
    constexpr double least_share = 0.85; // of what the busiest one sent
    std::uint64_t least = ~0ull, most = 0;
    for (std::size_t i = 0; i < b.shares.size(); ++i) {
        const auto sent = b.shares[i] - a.shares[i];
        least = std::min(least, sent);
        most = std::max(most, sent);
    }
    return static_cast<double>(least) >= least_share * static_cast<double>(most);
}

} // namespace olaf::bench
