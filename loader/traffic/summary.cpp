// SPDX-License-Identifier: BSD-2-Clause
#include "summary.hpp"

namespace olaf {

AgeOfModel age_of_model(const AomMeter &meter, std::int64_t until_ns) {
    return {.average_ns = meter.average_ns(until_ns),
            .peak_mean_ns = meter.mean_peak_ns(),
            .peak_highest_ns = meter.highest_peak_ns(),
            .peaks = meter.peaks()};
}

} // namespace olaf
