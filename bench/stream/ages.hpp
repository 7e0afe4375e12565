// SPDX-License-Identifier: BSD-2-Clause
// Ages of models over a part of a run, from meters that stand at its begin and at its end.
#pragma once

#include <chrono>
#include <vector>

#include <nlohmann/json.hpp>

#include "bench/frame.h"

namespace olaf::bench {

/// A meter stands where its cluster's last update arrived. From there the age has grown until now.
inline bench_age up_to_now(bench_age age) {
    if (age.since_us == 0)
        return age;
    // As bpf_ktime_get_ns(), and read behind the meter.
    const auto since_boot = std::chrono::steady_clock::now().time_since_epoch();
    const auto now = static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::microseconds>(since_boot).count());
    const auto low = age.since_us - age.generated_us, high = now - age.generated_us;
    age.area += (high * high - low * low) / 2;
    age.span_us += now - age.since_us;
    age.since_us = now;
    return age;
}

/// One cluster's ages in a part of a run, in microseconds.
struct ClusterAge {
    bool metered = false; ///< its model has ever arrived
    std::uint64_t arrivals = 0;
    double mean_us = 0;
    double peak_us = 0; ///< mean of those before an arrival; the age at the end if there was none
};

inline ClusterAge between(const bench_age &begin, const bench_age &end) {
    const auto span = end.span_us - begin.span_us;
    if (span == 0)
        return {};
    const auto arrivals = end.arrivals - begin.arrivals;
    const auto peaks = static_cast<double>(end.peaks_us - begin.peaks_us);
    return {.metered = true,
            .arrivals = arrivals,
            .mean_us = static_cast<double>(end.area - begin.area) / static_cast<double>(span),
            .peak_us = arrivals > 0 ? peaks / static_cast<double>(arrivals)
                                    : static_cast<double>(end.since_us - end.generated_us)};
}

/// Means over the clusters that have ages; each one's where there are few.
inline nlohmann::json report_ages(const std::vector<bench_age> &begin,
                                  const std::vector<bench_age> &end) {
    constexpr std::size_t few = 64;
    double mean = 0, peak = 0, freshest = 0, oldest = 0;
    int metered = 0;
    auto clusters = nlohmann::json::array();
    for (std::size_t i = 0; i < end.size(); ++i) {
        const auto age = between(begin[i], end[i]);
        if (age.metered) {
            freshest = metered > 0 ? std::min(freshest, age.mean_us) : age.mean_us;
            oldest = std::max(oldest, age.mean_us);
        }
        metered += age.metered;
        mean += age.mean_us;
        peak += age.peak_us;
        if (end.size() <= few && age.metered)
            clusters.push_back({{"cluster", i},
                                {"arrivals", age.arrivals},
                                {"mean", age.mean_us},
                                {"peak", age.peak_us}});
    }
    const double n = metered > 0 ? metered : 1;
    return {{"mean", mean / n},
            {"peak", peak / n},
            {"freshest", freshest},
            {"oldest", oldest},
            {"clusters", std::move(clusters)}};
}

} // namespace olaf::bench
