// SPDX-License-Identifier: BSD-2-Clause
#include "metrics.hpp"

#include <numeric>

#include "cluster_rows.hpp"
#include "loader/datapath/config.hpp"
#include "loader/text/names.hpp"

namespace olaf {
namespace {

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
    for (std::size_t i = 0; i < bypass_names.size(); i++)
        out.counter("olaf_bypassed_frames_total", "Frames left alone.",
                    with(device, "reason", std::string(bypass_names[i])),
                    static_cast<double>(counters.bypassed[i]));
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

/// What isn't watched isn't known, and so isn't there. The lane's needs no watching.
void add_losses(Exposition &out, const Labels &device, const Reading &queue) {
    const auto &counters = queue.snapshot.counters;
    const auto count = [&](const char *name, const char *help, const __u64 *watched,
                           std::uint64_t lane) {
        for (std::size_t place = 0; place < lost_names.size(); place++)
            if (place == OLAF_LOST_LANE || watched != nullptr)
                out.counter(
                    name, help, with(device, "place", std::string(lost_names[place])),
                    static_cast<double>(place == OLAF_LOST_LANE ? lane : watched[place]));
    };
    const auto *losses = queue.losses ? &*queue.losses : nullptr;
    count("olaf_lost_frames_total", "Frames lost behind the queue.",
          losses != nullptr ? losses->frames : nullptr, counters.departures_refused);
    count("olaf_lost_updates_total", "Updates in the frames lost behind the queue.",
          losses != nullptr ? losses->updates : nullptr, counters.updates_refused);
}

void add_gate(Exposition &out, const Labels &device, const Snapshot &snapshot) {
    out.gauge("olaf_gate_open", "Whether the way out takes departures: 1 or 0.", device,
              snapshot.gate.lost_ns == 0 ? 1 : 0);
    out.gauge("olaf_gate_blocked_seconds", "How long the way out has taken nothing.", device,
              static_cast<double>(blocked_ns(snapshot.gate)) / 1e9);
    out.gauge("olaf_next_hops_unready", "Next hops that don't answer while updates wait for them.",
              device, static_cast<double>(snapshot.next_hops_unready));
    out.counter("olaf_gate_probes_total", "Frames that asked whether the output takes any again.",
                device, static_cast<double>(snapshot.counters.gate_probes));
    out.counter("olaf_next_hop_requests_total", "Frames that asked a next hop for its address.",
                device, static_cast<double>(snapshot.counters.hops_asked));
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
          std::pair{"dropped_sealed", sums.dropped_sealed},
          std::pair{"dropped_misfit", sums.dropped_misfit}})
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
        add_gate(out, device, queue.snapshot);
        add_acks(out, device, queue);
        for (std::uint32_t id = 0; id < queue.snapshot.clusters.size(); id++)
            if (flow_of(queue.snapshot.clusters[id]).received != 0)
                add_flow(out, with(device, "cluster", std::to_string(id)),
                         queue.snapshot.clusters[id]);
        add_aom(out, device, queue.aom);
    }
    return out.text();
}

} // namespace olaf
