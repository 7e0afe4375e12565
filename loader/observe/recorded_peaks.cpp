// SPDX-License-Identifier: BSD-2-Clause
// The peaks of a recording: the kernel's meter knows only those since the queue was attached.
#include <algorithm>

#include "recording.hpp"

namespace olaf {
namespace {

const Age &age_of(const ClusterAom &aom, AgeClock clock) {
    return clock == AgeClock::arrival ? aom.arrival : aom.generated;
}

const ClusterAom *find(const AomReading &reading, std::uint32_t cluster) {
    const auto found = std::ranges::find(reading.clusters, cluster, &ClusterAom::cluster);
    return found != reading.clusters.end() ? &*found : nullptr;
}

/// A departure's newest update: when it was made, seconds since the recording began.
double made_s(const Departure &departure, AgeClock clock) {
    const auto age_ns =
        clock == AgeClock::arrival ? departure.arrival_age_ns : departure.generated_age_ns;
    // One of the future is taken to be made as it departs.
    return departure.time_s - static_cast<double>(std::max<std::int64_t>(age_ns, 0)) / 1e9;
}

} // namespace

std::optional<std::uint64_t> recorded_peak_ns(const Recording &recording, std::uint32_t cluster,
                                              AgeClock clock) {
    const auto *before = find(recording.first.aom, cluster);
    const auto *after = find(recording.last.aom, cluster);
    std::uint64_t highest = 0;
    // A new record is one of this time: exact, also where departures are missing.
    if (after != nullptr) {
        const auto record = age_of(*after, clock).highest_peak_ns;
        if (before == nullptr || record > age_of(*before, clock).highest_peak_ns)
            highest = record;
    }
    std::map<std::uint32_t, double> newest; // by segment
    if (before != nullptr && before->segments == 1 && after != nullptr && after->segments == 1)
        newest[0] = (static_cast<double>(recording.first.aom.now_ns) -
                     static_cast<double>(recording.started_ns) -
                     static_cast<double>(age_of(*before, clock).age_ns)) /
                    1e9;
    for (const auto &departure : recording.departures) {
        if (departure.cluster != cluster)
            continue;
        const double made = made_s(departure, clock);
        const auto [known, fresh] = newest.try_emplace(departure.segment, made);
        if (fresh || made <= known->second)
            continue; // the first that is known, or stale: no fall
        highest = std::max(highest, static_cast<std::uint64_t>(
                                        std::max(0.0, departure.time_s - known->second) * 1e9));
        known->second = made;
    }
    return highest > 0 ? std::optional{highest} : std::nullopt;
}

} // namespace olaf
