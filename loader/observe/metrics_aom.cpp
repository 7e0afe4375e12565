// SPDX-License-Identifier: BSD-2-Clause
#include <array>
#include <cmath>

#include "metrics.hpp"

namespace olaf {
namespace {

constexpr double nanosecond = 1e-9;

void add_age(Exposition &out, const Labels &cluster, const Age &age) {
    out.gauge("olaf_aom_seconds", "Age-of-Model now.", cluster,
              static_cast<double>(age.age_ns) * nanosecond);
    out.gauge("olaf_aom_average_seconds", "Age-of-Model, average since the first departure.",
              cluster, age.average_ns() * nanosecond);
    out.gauge("olaf_aom_mean_peak_seconds", "Age-of-Model, mean of its peaks.", cluster,
              age.mean_peak_ns() * nanosecond);
    out.gauge("olaf_aom_highest_peak_seconds", "Age-of-Model, highest peak.", cluster,
              static_cast<double>(age.highest_peak_ns) * nanosecond);
}

/// Their rates' quotient is the average over any range.
void add_area(Exposition &out, const Labels &cluster, const Age &age) {
    out.counter("olaf_aom_area_square_seconds_total", "Area under the sawtooth of Age-of-Model.",
                cluster, static_cast<double>(age.twice_area) / 2 * nanosecond * nanosecond);
    out.counter("olaf_aom_measured_seconds_total", "Time that the area is over.", cluster,
                static_cast<double>(age.time_ns) * nanosecond);
}

/// Buckets of powers of two: bucket i counts 2^i ... 2^(i+1) - 1, the last one all beyond.
template <std::size_t N>
std::vector<std::pair<double, std::uint64_t>> cumulative(const std::array<std::uint64_t, N> &log2,
                                                         double unit) {
    std::vector<std::pair<double, std::uint64_t>> buckets;
    std::uint64_t below = 0;
    for (std::size_t i = 0; i + 1 < N; i++) {
        below += log2[i];
        buckets.emplace_back((std::exp2(static_cast<double>(i + 1)) - 1) * unit, below);
    }
    return buckets;
}

template <std::size_t N>
void add_up(std::array<std::uint64_t, N> &sum, const std::array<std::uint64_t, N> &more) {
    for (std::size_t i = 0; i < N; i++)
        sum[i] += more[i];
}

/// What counts up, of a cluster or of several together.
void tell_sums(Exposition &out, const Labels &cluster, const ClusterAom &one) {
    add_area(out, with(cluster, "clock", "generated"), one.generated);
    add_area(out, with(cluster, "clock", "arrival"), one.arrival);
    out.summary("olaf_wait_seconds", "Time that departed updates have waited.", cluster,
                static_cast<double>(one.wait_sum) * nanosecond, one.departures);
}
void add_sums(ClusterAom &sum, const ClusterAom &one) {
    for (const auto clock : {&ClusterAom::generated, &ClusterAom::arrival}) {
        (sum.*clock).twice_area += (one.*clock).twice_area;
        (sum.*clock).time_ns += (one.*clock).time_ns;
    }
    sum.wait_sum += one.wait_sum;
    sum.departures += one.departures;
}

} // namespace

void add_aom(Exposition &out, const Labels &device, const Reading &queue,
             const ShownClusters &shown) {
    const auto &aom = queue.aom;
    ClusterAom all, others;
    for (const auto &one : aom.clusters) {
        all.departures += one.departures;
        all.updates += one.updates;
        add_up(all.folds, one.folds);
        add_up(all.generated.histogram, one.generated.histogram);
        add_up(all.arrival.histogram, one.arrival.histogram);
        all.generated.age_sum += one.generated.age_sum;
        all.arrival.age_sum += one.arrival.age_sum;
        if (!shown.has(queue, one.cluster)) {
            add_sums(others, one);
            continue;
        }
        const auto cluster = with(device, "cluster", std::to_string(one.cluster));
        add_age(out, with(cluster, "clock", "generated"), one.generated);
        add_age(out, with(cluster, "clock", "arrival"), one.arrival);
        out.gauge("olaf_model_version_lag", "Model versions that the last departure was behind.",
                  cluster, one.version_lag);
        tell_sums(out, cluster, one);
    }
    if (others.departures > 0)
        tell_sums(out, with(device, "cluster", "other"), others);
    const auto updates = static_cast<double>(all.updates);
    out.histogram("olaf_departure_updates", "Updates folded into a departing message.", device,
                  cumulative(all.folds, 1), all.departures, updates);
    for (const auto &[clock, age] : {std::pair{"generated", &ClusterAom::generated},
                                     std::pair{"arrival", &ClusterAom::arrival}}) {
        const auto sum = static_cast<double>((all.*age).age_sum) * nanosecond;
        out.histogram("olaf_departure_age_seconds", "Age of an update as it departs.",
                      with(device, "clock", clock), cumulative((all.*age).histogram, nanosecond),
                      all.departures, sum);
        out.gauge("olaf_aom_fairness_ratio", "Jain's index over the clusters' average ages.",
                  with(device, "clock", clock), aom_fairness(aom, age));
    }
}

} // namespace olaf
