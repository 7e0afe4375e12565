// SPDX-License-Identifier: BSD-2-Clause
#include "metrics.hpp"

#include "loader/datapath/config.hpp"
#include "loader/text/names.hpp"

namespace olaf {
namespace {

void add_queue(Exposition &out, const Labels &device, const Reading &queue) {
    const auto &record = queue.attachment.record;
    const auto &config = record.config;
    out.gauge("olaf_queue_info", "How a queue is attached; always 1.",
              with(with(with(with(device, "mode", mode_name(record)), "policy",
                             std::string(policy_name(config.default_policy))),
                        "deliver", std::string(deliver_names[config.deliver % 3])),
                   "target", record.target),
              1);
    out.gauge("olaf_queue_capacity", "Messages that may wait: Qmax.", device, config.queue_capacity);
    if (queue.card)
        out.gauge("olaf_card_lost", "Whether the card of the queue is lost: 1 or 0. Absent in the kernel.",
                  device, queue.lost() ? 1 : 0);
    if (queue.lost())
        return;
    out.gauge("olaf_active_clusters", "Clusters that sent an update in the activity window.",
              device, queue.snapshot.active_clusters);
    if (config.rate_bps != 0)
        out.gauge("olaf_rate_bytes_per_second", "Pace of departures; absent if unlimited.", device,
                  static_cast<double>(config.rate_bps) / 8);
}

void add_gate(Exposition &out, const Labels &device, const Reading &queue) {
    const auto &snapshot = queue.snapshot;
    out.gauge("olaf_gate_open", "Whether the way out takes departures: 1 or 0.", device,
              snapshot.gate.lost_ns == 0 ? 1 : 0);
    out.gauge("olaf_gate_blocked_seconds", "How long the way out has taken nothing.", device,
              static_cast<double>(blocked_ns(snapshot.gate, queue.aom.now_ns)) / 1e9);
    out.gauge("olaf_next_hops_unready", "Next hops that don't answer while updates wait for them.",
              device, static_cast<double>(snapshot.unready_hops.size()));
}

void add_window(Exposition &out, const Labels &device, const olaf_config &config,
                const olaf_window &window) {
    out.gauge("olaf_window_departures", "Departures that may be unacknowledged.", device,
              window_size(config, window));
    out.gauge("olaf_window_round_trip_seconds", "Smoothed time from a departure to its ACK.",
              device, static_cast<double>(window.rtt.smoothed_ns) * 1e-9);
}

} // namespace

std::string metrics(const std::vector<Reading> &queues, const ShownClusters &shown) {
    Exposition out;
    out.gauge("olaf_build_info", "The olaf that tells this; always 1.",
              {{"version", OLAF_PROJECT_VERSION}}, 1);
    out.gauge("olaf_queues", "Queues that are attached and were read.", {},
              static_cast<double>(queues.size()));
    for (const auto &queue : queues) {
        const Labels device{{"device", queue.attachment.device}};
        add_queue(out, device, queue);
        add_listed(out, device, queue, shown);
        add_jobs(out, device, queue);
        if (!queue.card)
            add_gate(out, device, queue);
        if (queue.snapshot.window)
            add_window(out, device, queue.attachment.record.config, *queue.snapshot.window);
        if (!queue.card) // which meters no ages
            add_aom(out, device, queue, shown);
    }
    return out.text();
}

} // namespace olaf
