// SPDX-License-Identifier: BSD-2-Clause
// Age-of-Model, as the kernel keeps it.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "olaf/aom.h"
#include "olaf/result.hpp"
#include "snapshot.hpp"

namespace olaf {

__extension__ typedef unsigned __int128 Wide;

/// The interval that people are shown.
inline constexpr std::uint64_t minute_ns = 60'000'000'000;

/// A sawtooth over an interval that ends now.
struct RecentAge {
    Wide twice_area = 0;          ///< ns²
    std::uint64_t time_ns = 0;    ///< the interval, of all segments together
    std::uint64_t highest_ns = 0; ///< peaks, from the second that it began in, and the age now

    [[nodiscard]] double average_ns() const; ///< 0 where no time has passed
};

/// A cluster's sawtooth by one clock, up to the moment of reading. A model in several segments
/// is as old as its parts are on average: areas and times add up.
struct Age {
    Wide twice_area = 0;       ///< ns², from the first departure until now
    std::uint64_t time_ns = 0; ///< that time, of all segments together
    Wide settled_twice_area = 0;       ///< the same until the last departure alone
    std::uint64_t settled_time_ns = 0; ///< that time
    std::uint64_t age_ns = 0;  ///< now; the mean of segments
    std::uint64_t peaks = 0;
    Wide peak_sum = 0;
    std::uint64_t highest_peak_ns = 0; ///< the highest of any segment, since the meter began
    std::uint64_t last_age_ns = 0;     ///< of the update that departed last, as it departed
    /// Departures by age, bucket i from 2^i ns.
    std::array<std::uint64_t, OLAF_AGE_BUCKETS> histogram{};
    Wide age_sum = 0; ///< ns, of the same departures
    /// The last minute, or since the first departure. It begins up to 9 s later where the moment
    /// a minute ago is between two marks of the kernel's.
    RecentAge minute;
    /// The highest peak of second s (of 2^30 ns) at s % 64, for those up to now.
    std::array<std::uint64_t, OLAF_AGE_SECONDS> seconds{};

    [[nodiscard]] double average_ns() const;   ///< 0 where no time has passed
    [[nodiscard]] double mean_peak_ns() const; ///< 0 without a peak
    /// Until the last departure, so that a queue at rest doesn't age; 0 where no time has passed.
    [[nodiscard]] double settled_average_ns() const;
    /// The highest age from the second of `from_ns` until now, peaks and what it has grown to.
    [[nodiscard]] std::uint64_t highest_ns(std::uint64_t from_ns, std::uint64_t now_ns) const;
};

struct ClusterAom {
    std::uint32_t cluster = 0;
    std::uint32_t segments = 0; ///< of which an update has departed
    std::uint64_t departures = 0;
    std::uint64_t updates = 0;  ///< sum of their count
    std::uint64_t first_ns = 0; ///< first departure, CLOCK_MONOTONIC
    std::uint64_t last_ns = 0;  ///< last departure
    Wide wait_sum = 0;          ///< ns in the queue, from the first folded update's arrival
    std::uint64_t wait_max_ns = 0;
    Age arrival;                   ///< by the newest folded update's arrival
    Age generated;                 ///< by its generated_ns, as credible as the worker's clock
    std::uint64_t from_future = 0; ///< departures whose generated_ns was ahead of our clock
    std::uint32_t version_newest = 0;
    std::uint32_t version_lag = 0; ///< of the last departure
    std::uint32_t version_lag_max = 0;
    Wide version_lag_sum = 0;
    bool idle = false; ///< nothing has departed for a minute, and nothing waits
    /// Departures by updates folded in, bucket i from 2^i.
    std::array<std::uint64_t, OLAF_FOLD_BUCKETS> folds{};

    [[nodiscard]] double mean_wait_ns() const;
    [[nodiscard]] double mean_version_lag() const;
    /// Departures that weren't newer than one before them, by generated_ns.
    [[nodiscard]] std::uint64_t stale() const { return departures - segments - generated.peaks; }
};

struct AomReading {
    std::uint64_t now_ns = 0;         ///< CLOCK_MONOTONIC
    std::vector<ClusterAom> clusters; ///< those that something has departed of, by id
};

/// Reads the map olaf_aom while programs write it: each (cluster, segment) is of one moment.
Result<AomReading> read_aom(const olaf_config &config, const MapFinder &map_fd);

/// Jain's index, μ² / (μ² + σ²): 1 if all are equal, or there are none.
double jain_index(std::span<const double> values);

/// Jain's index over the clusters' averages, μ² / (μ² + σ²); 1 without clusters.
double aom_fairness(const AomReading &reading, Age ClusterAom::*clock);

/// All clusters together, by one clock.
struct ClockSummary {
    std::uint64_t average_ns = 0; ///< mean of the clusters' averages
    std::uint64_t oldest_ns = 0;
    std::uint64_t peak_highest_ns = 0;
    double fairness = 1;
};
ClockSummary summary_of(const AomReading &reading, Age ClusterAom::*clock);
/// The same until each cluster's last departure: what a pause after it doesn't change.
ClockSummary settled_of(const AomReading &reading, Age ClusterAom::*clock);
/// The same of the last minute, without idle clusters.
ClockSummary minute_of(const AomReading &reading, Age ClusterAom::*clock);

/// Adds one (cluster, segment) as it is at `now_ns`; one without departures changes nothing.
void add_segment(ClusterAom &cluster, const olaf_aom &segment, std::uint64_t now_ns);

// Age-of-Model of an interval that ends now, from the seconds and marks that the kernel keeps.

/// The members of one clock.
struct AgeClockMembers {
    olaf_sawtooth olaf_aom::*sawtooth;
    __u64 olaf_age_peaks::*peak;
    __s64 olaf_age_mark::*newest;
    olaf_u128 olaf_age_mark::*twice_area;
    olaf_u128 olaf_aom::*age_sum;
};
inline constexpr AgeClockMembers arrival_members{&olaf_aom::arrival, &olaf_age_peaks::arrival_ns,
                                                 &olaf_age_mark::newest_arrival_ns,
                                                 &olaf_age_mark::twice_arrival,
                                                 &olaf_aom::arrival_age_sum};
inline constexpr AgeClockMembers generated_members{
    &olaf_aom::generated, &olaf_age_peaks::generated_ns, &olaf_age_mark::newest_generated_ns,
    &olaf_age_mark::twice_generated, &olaf_aom::generated_age_sum};

/// One segment's, of which something has departed, from about `from_ns` to `now_ns`. It reaches as
/// far back as 60 s.
RecentAge recent_age(const olaf_aom &segment, const AgeClockMembers &clock, std::uint64_t from_ns,
                     std::uint64_t now_ns);

/// Takes the highest peaks of the seconds that end with now's into Age::seconds.
void add_seconds(std::array<std::uint64_t, OLAF_AGE_SECONDS> &seconds, const olaf_aom &segment,
                 const AgeClockMembers &clock, std::uint64_t now_ns);

} // namespace olaf
