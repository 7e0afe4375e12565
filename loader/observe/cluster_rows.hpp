// SPDX-License-Identifier: BSD-2-Clause
// What a queue did between two readings, cluster by cluster: the figures of top, report and the
// live page.
#pragma once

#include <cstdint>
#include <vector>

#include "queue_reader.hpp"

namespace olaf {

/// By which clock ages are told: the newest update's generated_ns, or its arrival here.
enum class AgeClock { generated, arrival };

/// What came in, went out and was lost.
struct Flow {
    std::uint64_t received = 0;    ///< messages, dropped ones included
    std::uint64_t departed = 0;    ///< messages, those that passed through included
    std::uint64_t updates_out = 0; ///< updates folded into those
    std::uint64_t dropped = 0;     ///< messages

    /// Updates in a departing message, on average; 0 without any.
    [[nodiscard]] double fold_factor() const {
        return departed == 0 ? 0 : static_cast<double>(updates_out) / static_cast<double>(departed);
    }
};

Flow flow_of(const SlotSums &sums);
Flow difference(const Flow &later, const Flow &earlier);

struct ClusterRow {
    std::uint32_t cluster = 0;
    Flow total;                     ///< since attach
    Flow recent;                    ///< between the readings
    double in_per_s = 0;            ///< messages
    double out_per_s = 0;           ///< messages
    ClusterAom aom;                 ///< as `olaf status` shows it; segments 0: nothing departed yet
    double recent_arrival_ns = 0;   ///< average AoM between the readings, by arrival
    double recent_generated_ns = 0; ///< the same by generated_ns
};

struct Rows {
    double seconds = 0;               ///< between the readings
    Flow total, recent;               ///< of all clusters
    std::vector<ClusterRow> clusters; ///< those that were ever heard of, by id
};

Rows rows_between(const Reading &earlier, const Reading &later);

} // namespace olaf
