// SPDX-License-Identifier: BSD-2-Clause
#include "aom_json.hpp"

#include <algorithm>
#include <cmath>

namespace olaf {
namespace {

using Json = nlohmann::ordered_json;

std::uint64_t whole(double value) {
    return static_cast<std::uint64_t>(std::llround(value));
}

double three_digits(double value) {
    return std::round(value * 1000) / 1000;
}

/// Counts by power of two; what follows the last that isn't zero is left out.
template <std::size_t N> Json histogram(const std::array<std::uint64_t, N> &counts) {
    Json list = Json::array();
    auto last = std::find_if(counts.rbegin(), counts.rend(), [](auto count) { return count != 0; });
    for (auto at = counts.begin(); at != last.base(); ++at)
        list.push_back(*at);
    return list;
}

Json age_json(const Age &age) {
    return {{"age_ns", age.age_ns},
            {"average_ns", whole(age.average_ns())},
            {"peak_mean_ns", whole(age.mean_peak_ns())},
            {"peak_highest_ns", age.highest_peak_ns},
            {"peaks", age.peaks},
            {"last_update_age_ns", age.last_age_ns},
            {"histogram_log2_ns", histogram(age.histogram)}};
}

Json minute_json(const RecentAge &age) {
    return {{"interval_ns", age.time_ns},
            {"average_ns", whole(age.average_ns())},
            {"peak_highest_ns", age.highest_ns}};
}

Json clock_json(const ClockSummary &clock) {
    return {{"average_ns", clock.average_ns},
            {"oldest_ns", clock.oldest_ns},
            {"peak_highest_ns", clock.peak_highest_ns},
            {"fairness", three_digits(clock.fairness)}};
}

} // namespace

Json cluster_aom_json(const ClusterAom &cluster, std::uint64_t now_ns) {
    const auto now = std::max(now_ns, cluster.last_ns);
    const auto mean_fold = cluster.departures == 0 ? 0.0
                                                   : static_cast<double>(cluster.updates) /
                                                         static_cast<double>(cluster.departures);
    Json generated = age_json(cluster.generated);
    generated["stale"] = cluster.stale();
    generated["from_future"] = cluster.from_future;
    const Json minute{{"idle", cluster.idle},
                      {"by_arrival", minute_json(cluster.arrival.minute)},
                      {"by_generated", minute_json(cluster.generated.minute)}};
    return {{"departures", cluster.departures},
            {"updates", cluster.updates},
            {"segments", cluster.segments},
            {"observed_ns", now - cluster.first_ns},
            {"since_last_ns", now - cluster.last_ns},
            {"by_arrival", age_json(cluster.arrival)},
            {"by_generated", std::move(generated)},
            {"last_minute", minute},
            {"wait", {{"mean_ns", whole(cluster.mean_wait_ns())}, {"max_ns", cluster.wait_max_ns}}},
            {"folds",
             {{"mean", three_digits(mean_fold)}, {"histogram_log2", histogram(cluster.folds)}}},
            {"version",
             {{"newest", cluster.version_newest},
              {"lag", cluster.version_lag},
              {"lag_mean", three_digits(cluster.mean_version_lag())},
              {"lag_max", cluster.version_lag_max}}}};
}

Json aom_summary_json(const AomReading &reading) {
    const auto idle = std::ranges::count_if(reading.clusters, &ClusterAom::idle);
    const Json minute{{"clusters", static_cast<std::ptrdiff_t>(reading.clusters.size()) - idle},
                      {"idle_clusters", idle},
                      {"by_arrival", clock_json(minute_of(reading, &ClusterAom::arrival))},
                      {"by_generated", clock_json(minute_of(reading, &ClusterAom::generated))}};
    return {{"clusters", reading.clusters.size()},
            {"by_arrival", clock_json(summary_of(reading, &ClusterAom::arrival))},
            {"by_generated", clock_json(summary_of(reading, &ClusterAom::generated))},
            {"last_minute", minute}};
}

} // namespace olaf
