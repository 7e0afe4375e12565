// SPDX-License-Identifier: BSD-2-Clause
// What a queue did between two readings, cluster by cluster: the figures of top, report and the
// live page.
#pragma once

#include <cstdint>
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

struct Rows {
    double seconds = 0;               ///< between the readings
    Flow total, recent;               ///< of all clusters
    std::vector<ClusterRow> clusters; ///< those that were ever heard of, by id
};

/// Of the time after `olaf reset`, if it came between them.
Rows rows_between(const Reading &earlier, const Reading &later);

} // namespace olaf
