// SPDX-License-Identifier: BSD-2-Clause
#include "metrics.hpp"

#include <fmt/format.h>

#include <cmath>

#include "cluster_rows.hpp"
#include "loader/config.hpp"
#include "loader/names.hpp"

namespace olaf {
namespace {

constexpr double nanosecond = 1e-9;

Labels with(Labels labels, const char *name, std::string value) {
    labels.emplace_back(name, std::move(value));
    return labels;
}

void add_queue(Exposition &out, const Labels &device, const Reading &queue) {
    const auto &record = queue.attachment.record;
    const auto &config = record.config;
    out.gauge("olaf_queue_info", "How a queue is attached; always 1.",
              with(with(with(with(device, "mode", record.skb_mode ? "skb" : "native"), "policy",
                             std::string(policy_name(config.default_policy))),
                        "deliver", std::string(deliver_names[config.deliver % 3])),
                   "target", record.target),
              1);
    out.gauge("olaf_queue_length", "Updates that wait.", device,
              static_cast<double>(queue.snapshot.queue_length));
    out.gauge("olaf_queue_capacity", "Updates that may wait: Qmax.", device, config.queue_capacity);
    out.gauge("olaf_queue_waiting_updates", "Updates folded into those that wait.", device,
              static_cast<double>(queue.snapshot.updates_waiting));
    out.gauge("olaf_active_clusters", "Clusters that sent an update in the activity window.",
              device, queue.snapshot.active_clusters);
    if (config.rate_bps != 0)
        out.gauge("olaf_rate_bytes_per_second", "Pace of departures; absent if unlimited.", device,
                  static_cast<double>(config.rate_bps) / 8);
}

void add_counters(Exposition &out, const Labels &device, const olaf_counters &counters) {
    const auto count = [&](const char *name, const char *help, std::uint64_t value) {
        out.counter(name, help, device, static_cast<double>(value));
    };
    count("olaf_received_messages_total", "Updates received, well formed and allowed.",
          counters.received);
    count("olaf_received_updates_total", "Updates folded into the messages received.",
          counters.updates_in);
    count("olaf_bypassed_frames_total", "Frames left alone.", counters.bypassed);
    for (std::size_t i = 0; i < malformed_names.size(); i++)
        out.counter("olaf_malformed_messages_total", "Messages dropped as malformed.",
                    with(device, "reason", std::string(malformed_names[i])),
                    static_cast<double>(counters.malformed[i]));
    for (std::size_t i = 0; i < refused_names.size(); i++)
        out.counter("olaf_not_allowed_messages_total", "Messages dropped as not allowed.",
                    with(device, "reason", std::string(refused_names[i])),
                    static_cast<double>(counters.not_allowed[i]));
    count("olaf_contended_messages_total",
          "Updates dropped at a lock; part of those dropped as full.", counters.dropped_contended);
    for (const auto &[reason, value] : {std::pair{"unfit", counters.departures_unfit},
                                        std::pair{"refused", counters.departures_refused}})
        out.counter("olaf_failed_departures_total", "Departures that didn't get out.",
                    with(device, "reason", reason), static_cast<double>(value));
    count("olaf_lane_ticks_total", "Times the drain lane's token came round.", counters.lane_ticks);
    count("olaf_lane_tokens_total", "Tokens launched into the drain lane.",
          counters.tokens_launched);
    count("olaf_unmetered_passages_total", "Updates that passed through without being metered.",
          counters.passages_unmetered);
    count("olaf_lost_events_total", "Events that found the listener's buffer full.",
          counters.events_lost);
}

/// What isn't watched isn't known, and so isn't there.
void add_losses(Exposition &out, const Labels &device, const Reading &queue) {
    if (!queue.losses)
        return;
    for (const auto &[place, where] :
         {std::pair{"redirect", OLAF_LOST_REDIRECT}, std::pair{"transmit", OLAF_LOST_XMIT},
          std::pair{"send_back", OLAF_LOST_TX}})
        out.counter("olaf_lost_frames_total", "Frames lost behind the queue.",
                    with(device, "place", place), static_cast<double>(queue.losses->frames[where]));
}

void add_flow(Exposition &out, const Labels &cluster, const SlotSums &sums) {
    const auto count = [&](const char *name, const char *help, const char *label, const char *value,
                           std::uint64_t number) {
        out.counter(name, help, with(cluster, label, value), static_cast<double>(number));
    };
    for (const auto &[action, number] :
         {std::pair{"passed_through", sums.passed_through}, std::pair{"appended", sums.appended},
          std::pair{"aggregated", sums.aggregated}, std::pair{"replaced", sums.replaced},
          std::pair{"dropped_full", sums.dropped_full},
          std::pair{"dropped_reward", sums.dropped_reward},
          std::pair{"dropped_sealed", sums.dropped_sealed}})
        count("olaf_arrivals_total", "Messages by what became of them on arrival.", "action",
              action, number);
    for (const auto &[way, number] :
         {std::pair{"riding", sums.departed_riding}, std::pair{"drain", sums.departed_drain},
          std::pair{"passed", sums.passed_through}})
        count("olaf_departures_total", "Messages that left, by their way.", "way", way, number);
    for (const auto &[fate, number] :
         {std::pair{"out", sums.updates_out}, std::pair{"superseded", sums.updates_superseded},
          std::pair{"dropped", sums.updates_dropped}})
        count("olaf_updates_total", "Updates by how they ended.", "fate", fate, number);
}

void add_age(Exposition &out, const Labels &cluster, const Age &age) {
    out.gauge("olaf_aom_seconds", "Age-of-Model now.", cluster,
              static_cast<double>(age.age_ns) * nanosecond);
    out.gauge("olaf_aom_average_seconds", "Age-of-Model, average since the first departure.",
              cluster, age.average_ns() * nanosecond);
    out.gauge("olaf_aom_mean_peak_seconds", "Age-of-Model, mean of its peaks.", cluster,
              age.mean_peak_ns() * nanosecond);
    out.gauge("olaf_aom_highest_peak_seconds", "Age-of-Model, highest peak.", cluster,
              static_cast<double>(age.highest_peak_ns) * nanosecond);
    // Their rates' quotient is the average over any range.
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

void add_aom(Exposition &out, const Labels &device, const AomReading &aom) {
    ClusterAom all;
    for (const auto &one : aom.clusters) {
        const auto cluster = with(device, "cluster", std::to_string(one.cluster));
        add_age(out, with(cluster, "clock", "generated"), one.generated);
        add_age(out, with(cluster, "clock", "arrival"), one.arrival);
        out.summary("olaf_wait_seconds", "Time that departed updates have waited.", cluster,
                    static_cast<double>(one.wait_sum) * nanosecond, one.departures);
        out.gauge("olaf_model_version_lag", "Model versions that the last departure was behind.",
                  cluster, one.version_lag);
        all.departures += one.departures;
        all.updates += one.updates;
        add_up(all.folds, one.folds);
        add_up(all.generated.histogram, one.generated.histogram);
        add_up(all.arrival.histogram, one.arrival.histogram);
    }
    const auto updates = static_cast<double>(all.updates);
    out.histogram("olaf_departure_updates", "Updates folded into a departing message.", device,
                  cumulative(all.folds, 1), all.departures, &updates);
    for (const auto &[clock, age] : {std::pair{"generated", &ClusterAom::generated},
                                     std::pair{"arrival", &ClusterAom::arrival}}) {
        out.histogram("olaf_departure_age_seconds", "Age of an update as it departs.",
                      with(device, "clock", clock), cumulative((all.*age).histogram, nanosecond),
                      all.departures, nullptr);
        out.gauge("olaf_aom_fairness_ratio", "Jain's index over the clusters' average ages.",
                  with(device, "clock", clock), aom_fairness(aom, age));
    }
}

} // namespace

std::string metrics(const std::vector<Reading> &queues) {
    Exposition out;
    out.gauge("olaf_queues", "Queues that are attached and were read.", {},
              static_cast<double>(queues.size()));
    for (const auto &queue : queues) {
        const Labels device{{"device", queue.attachment.device}};
        add_queue(out, device, queue);
        add_counters(out, device, queue.snapshot.counters);
        add_losses(out, device, queue);
        for (std::uint32_t id = 0; id < queue.snapshot.clusters.size(); id++)
            if (flow_of(queue.snapshot.clusters[id]).received != 0)
                add_flow(out, with(device, "cluster", std::to_string(id)),
                         queue.snapshot.clusters[id]);
        add_aom(out, device, queue.aom);
    }
    return out.text();
}

} // namespace olaf
