// SPDX-License-Identifier: BSD-2-Clause
#include "status_text.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>

#include "flow.hpp"
#include "loader/datapath/config.hpp"
#include "loader/text/human.hpp"
#include "loader/text/names.hpp"

namespace olaf {
namespace {

/// "12 full", or "12" for what the whole line is about; "" if it is 0 or not known.
std::string one_text(const Figure &figure, const Numbers &numbers) {
    const auto value = figure.in(numbers).value_or(0);
    if (value == 0)
        return "";
    const auto label = figure.label();
    return label.empty() ? fmt::format("{}", value) : fmt::format("{} {}", value, label);
}

/// " (3 riding, 9 drain)": the figures that a sum is made of.
std::string parts_text(const Figure &sum, const Numbers &numbers) {
    std::string text;
    for (const auto &figure : figures())
        if (figure.group == sum.group && figure.sum == sum.key)
            if (const auto part = one_text(figure, numbers); !part.empty())
                text += (text.empty() ? " (" : ", ") + part;
    return text.empty() ? text : text + ")";
}

std::string line(std::string_view name, const std::string &text) {
    std::string title(name);
    std::ranges::replace(title, '_', ' ');
    return fmt::format("  {:<9} {}\n", title, text);
}

std::string head_text(const Attachment &attachment) {
    const auto &record = attachment.record;
    const auto &config = record.config;
    const std::string target = record.target;
    const auto *bridge = (config.flags & OLAF_CONFIG_BRIDGE) != 0 ? ", bridging" : "";
    return fmt::format("{}: {} mode, port {}, policy {}, rate {}, delivers {}{}\n",
                       attachment.device, record.skb_mode ? "skb" : "native", ntohs(config.port_be),
                       policy_name(config.default_policy), rate_text(config.rate_bps),
                       deliver_names[config.deliver % 3],
                       target.empty() ? "" : " to " + target + bridge);
}

std::string queue_text(const olaf_config &config, const Snapshot &snapshot, const HostState &host) {
    return fmt::format("{} of {} waiting, {} active clusters, maps take {}{}",
                       snapshot.levels.queue_length, config.queue_capacity,
                       snapshot.active_clusters, size_text(host.memory_bytes),
                       snapshot.emptying ? ", a command is emptying it" : "");
}

std::string window_text(const olaf_config &config, const olaf_window &window) {
    return fmt::format("size {}{}, round trip {}{}", window_size(config, window),
                       window_of(config).automatic ? " (auto)" : "",
                       human_duration(static_cast<double>(window.rtt.smoothed_ns)),
                       window.silent != 0 ? ", the server is silent" : "");
}

/// Only while something keeps updates back.
std::string gate_text(const Snapshot &snapshot, const std::string &obstacle) {
    std::string text;
    if (!obstacle.empty())
        text += line("way out", obstacle);
    if (snapshot.gate.lost_ns != 0)
        text += line("way out",
                     fmt::format("takes nothing for {}: updates wait",
                                 human_duration(static_cast<double>(blocked_ns(snapshot.gate)))));
    if (snapshot.next_hops_unready != 0)
        text += line("way out", fmt::format("{} next hops don't answer: their updates wait",
                                            snapshot.next_hops_unready));
    return text;
}

std::string ages(const ClockSummary &clock) {
    return fmt::format("average {}, oldest {}, highest peak {}", human_duration(clock.average_ns),
                       human_duration(static_cast<double>(clock.oldest_ns)),
                       human_duration(static_cast<double>(clock.peak_highest_ns)));
}

std::string age_lines(const olaf_config &config, const AomReading &aom) {
    if ((config.flags & OLAF_CONFIG_NO_METER) != 0 || aom.clusters.empty())
        return "";
    const auto idle = std::ranges::count_if(aom.clusters, &ClusterAom::idle);
    const auto busy = static_cast<std::ptrdiff_t>(aom.clusters.size()) - idle;
    const auto idle_text = idle == 0 ? std::string() : fmt::format("{} idle clusters", idle);
    if (busy == 0)
        return line("age", idle_text + ": nothing has left for a minute");
    const auto arrival = minute_of(aom, &ClusterAom::arrival);
    return line("age", fmt::format("in the last minute, of {} clusters{}", busy,
                                   idle == 0 ? "" : ", without " + idle_text)) +
           line("", fmt::format("{} since arrival, fairness {:.3g}", ages(arrival),
                                arrival.fairness)) +
           line("", ages(minute_of(aom, &ClusterAom::generated)) + " since generated");
}

std::string cluster_table(const std::vector<olaf_slot_counters> &clusters) {
    auto text = fmt::format("\n{:>8} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10}\n", "cluster",
                            "passed", "appended", "aggregated", "replaced", "departed", "dropped");
    for (std::size_t id = 0; id < clusters.size(); id++) {
        const auto &slots = clusters[id];
        const auto flow = flow_of(slots);
        if (flow.received != 0)
            text +=
                fmt::format("{:>8} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10}\n", id,
                            slots.passed_through, slots.appended, slots.aggregated, slots.replaced,
                            slots.departed_riding + slots.departed_drain, flow.dropped);
    }
    return text;
}

} // namespace

std::string counted_text(olaf_group group, const Numbers &numbers) {
    std::string head, rest;
    for (const auto *figure : whole_figures(group)) {
        const auto one = one_text(*figure, numbers);
        if (one.empty())
            continue;
        if (figure->label().empty())
            head = one + parts_text(*figure, numbers);
        else
            rest += (rest.empty() ? "" : ", ") + one + parts_text(*figure, numbers);
    }
    return head + (head.empty() || rest.empty() ? "" : ": ") + rest;
}

std::string status_text(const Attachment &attachment, const QueueReading &reading,
                        const HostState &host, bool clusters) {
    const auto &config = attachment.record.config;
    const auto &snapshot = reading.snapshot;
    auto text = head_text(attachment) + line("queue", queue_text(config, snapshot, host));
    if (snapshot.window)
        text += line("window", window_text(config, *snapshot.window));
    for (std::size_t i = 0; i < counter_groups().size(); i++) {
        const auto group = static_cast<olaf_group>(i);
        const auto &[name, object, loses, at_zero, meaning] = counter_groups()[i];
        const auto counted = counted_text(group, reading.numbers());
        if (group != OLAF_GROUP_queue && (at_zero || !counted.empty()))
            text += line(name, counted.empty() ? "0" : counted);
    }
    text += age_lines(config, reading.aom) + gate_text(snapshot, host.obstacle);
    if (!reading.losses)
        text += line("behind", "losses aren't watched: olaf attach --replace tells why");
    if (attachment.alive)
        for (const auto &note : own_notes(host.own, attachment.device))
            text += line("addresses", note);
    return clusters ? text + cluster_table(snapshot.clusters) : text;
}

} // namespace olaf
