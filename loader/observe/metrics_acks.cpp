// SPDX-License-Identifier: BSD-2-Clause
// The way back: ACKs, and the window that they open.
#include "metrics.hpp"
#include "status_json.hpp"

namespace olaf {
namespace {

void add_window(Exposition &out, const Labels &device, const nlohmann::ordered_json &window) {
    if (window.is_null())
        return;
    const auto number = [&](const char *key) { return window.at(key).get<double>(); };
    out.gauge("olaf_window_departures", "Departures that may be unacknowledged.", device,
              number("size"));
    out.gauge("olaf_window_in_flight_departures", "Departures that are unacknowledged.", device,
              number("in_flight"));
    out.gauge("olaf_window_round_trip_seconds", "Smoothed time from a departure to its ACK.",
              device, number("rtt_ns") * 1e-9);
    for (const auto *outcome : {"acked", "forgiven", "late", "unmatched"})
        out.counter("olaf_window_events_total", "What became of departures, and of ACKs.",
                    with(device, "event", outcome), number(outcome));
}

} // namespace

void add_acks(Exposition &out, const Labels &device, const Reading &queue) {
    const auto status = status_json(queue.attachment, queue, false);
    const auto &acks = status.at("acks");
    const auto number = [&](const char *key) { return acks.at(key).get<double>(); };
    for (const auto &[name, help, key] :
         {std::tuple{"olaf_received_acks_total", "ACKs, well formed.", "recognised"},
          {"olaf_stamped_acks_total", "ACKs that this queue stamped.", "stamped"},
          {"olaf_kept_stamps_total", "ACKs with the stamp of a more congested queue.", "kept"},
          {"olaf_copied_acks_total", "ACKs copied to a cluster's workers.", "copied"},
          {"olaf_ack_copies_total", "Copies of ACKs that left.", "copies"},
          {"olaf_foreign_acks_total", "ACKs from where no worker sends to: left alone.",
           "foreign"},
          {"olaf_unplaced_updates_total", "Updates whose worker couldn't be learnt.",
           "workers_unplaced"}})
        out.counter(name, help, device, number(key));
    for (const auto &[reason, key] : {std::pair{"unplaced", "workers_unplaced"},
                                      {"deferred", "workers_deferred"},
                                      {"source", "sources_refused"},
                                      {"takeover", "takeovers_refused"}})
        out.counter("olaf_unlearnt_updates_total", "Updates that no worker was learnt from.",
                    with(device, "reason", reason), number(key));
    for (const auto &[reason, key] : {std::pair{"refused", "copies_refused"},
                                      {"unreachable", "copies_unreachable"},
                                      {"foreign", "copies_foreign"},
                                      {"shared", "copies_shared"},
                                      {"unfit", "copies_unfit"}})
        out.counter("olaf_failed_ack_copies_total", "Copies of ACKs that didn't leave.",
                    with(device, "reason", reason), number(key));
    add_window(out, device, status.at("window"));
}

} // namespace olaf
