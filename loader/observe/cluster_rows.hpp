// SPDX-License-Identifier: BSD-2-Clause
// What a queue did between two readings, cluster by cluster and job by job: the figures of top,
// report and the live page.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "flow.hpp"
#include "options.hpp"
#include "queue_reader.hpp"

namespace olaf {

struct ClusterRow {
    std::uint32_t cluster = 0;
    Flow total;                     ///< since attach
    Flow recent;                    ///< between the readings
    double in_per_s = 0;            ///< messages
    double out_per_s = 0;           ///< messages
    ClusterAom aom;                 ///< as `olaf status` shows it; segments 0: nothing departed yet
    RecentAge arrival;              ///< AoM between the readings, by arrival
    RecentAge generated;            ///< the same by generated_ns
    bool idle = false;              ///< nothing came or went between them, and nothing waits
};

struct JobRow {
    std::uint32_t job = 0;
    std::string state;              ///< as status has it
    std::uint32_t heard = 0;        ///< members that were ever heard of
    std::uint32_t children = 0;     ///< members that there must be
    double contributions_per_s = 0; ///< added
    double chunks_per_s = 0;        ///< completed
    std::uint64_t open = 0, up = 0; ///< chunks that gather, and that are with the parent
    std::uint64_t late = 0, stale = 0; ///< contributions, since the job was set
    std::string group = {};            ///< that results go to; "": to each member
};

struct Rows {
    double seconds = 0;               ///< between the readings
    Flow total, recent;               ///< of all clusters
    std::vector<ClusterRow> clusters; ///< those that were ever heard of, by id
    std::vector<JobRow> jobs;         ///< by id
};

/// Of the time after `olaf reset`, if it came between them.
Rows rows_between(const Reading &earlier, const Reading &later);

} // namespace olaf
