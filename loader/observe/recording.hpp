// SPDX-License-Identifier: BSD-2-Clause
// What `olaf report` keeps of a queue while it looks on.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "loader/attachment/attachment.hpp"
#include "loader/host/signals.hpp"
#include "rows.hpp"

namespace olaf {

/// An update that left, for the sawtooth.
struct Departure {
    double time_s = 0; ///< since the recording began
    std::uint32_t cluster = 0;
    std::uint32_t segment = 0;
    std::uint32_t count = 0; ///< updates folded in
    std::int64_t generated_age_ns = 0;
    std::int64_t arrival_age_ns = 0;
    std::uint64_t wait_ns = 0;
};

struct Occupancy {
    double time_s = 0;
    std::uint64_t length = 0;
};

/// Where a report comes from, for whoever reads it later.
struct ReportOrigin {
    std::string host;
    std::string attached_with; ///< a command that makes such a queue; "": can't be told
    std::string reported_with; ///< a command that makes such a report
};

struct Recording {
    ReportOrigin about;
    Reading first, last;
    Rows rows; ///< between those: exact, whatever was missed below
    std::int64_t started_s = 0;   ///< Unix time
    std::uint64_t started_ns = 0; ///< CLOCK_MONOTONIC
    double seconds = 0;
    std::vector<Departure> departures;            ///< as they left; the first `most_departures`
    std::vector<Occupancy> occupancy;             ///< at even intervals
    std::map<std::uint32_t, std::uint64_t> folds; ///< departures by updates folded in
    std::uint64_t events = 0;                     ///< departures told, kept or not
    std::uint64_t missed = 0;                     ///< departures that weren't told

    /// More would neither fit a picture nor, at full rate, the memory: 40 MB.
    static constexpr std::size_t most_departures = 1'000'000;
};

/// Looks on for so long, or until a signal comes: then what there is so far.
Result<Recording> record_queue(const Attachment &attachment, std::uint64_t for_ns,
                               const Signals &signals);

/// What was lost in that time for one reason.
struct Lost {
    std::string reason; ///< as `olaf status` names it: "lost_behind.socket"
    std::uint64_t number = 0;
    std::string_view unit; ///< "messages", "frames"
};
/// All reasons whose counters are known, also those of which there was none.
std::vector<Lost> losses_by_reason(const Recording &recording);

/// The highest age that a cluster had in that time just before an update departed that was newer;
/// nothing without one. Of a recording that misses departures, the highest that is known.
std::optional<std::uint64_t> recorded_peak_ns(const Recording &recording, std::uint32_t cluster,
                                              AgeClock clock);

/// Jain's index over the clusters' average ages in that time.
double recorded_fairness(const Recording &recording, AgeClock clock);

} // namespace olaf
