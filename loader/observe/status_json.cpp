// SPDX-License-Identifier: BSD-2-Clause
#include "status_json.hpp"

#include <arpa/inet.h>

#include <map>
#include <numeric>

#include "aom_json.hpp"
#include "bpf/queue/window_pilot.bpf.h"
#include "loader/datapath/config.hpp"
#include "loader/text/names.hpp"

namespace olaf {
namespace {

using Json = nlohmann::ordered_json;

template <std::size_t N>
Json by_reason(const __u64 (&counts)[N], const std::array<std::string_view, N> &names) {
    Json object = Json::object();
    for (std::size_t i = 0; i < N; i++)
        object[std::string(names[i])] = counts[i];
    return object;
}

Json event_counters(const SlotSums &slots) {
    return {{"passed_through", slots.passed_through}, {"appended", slots.appended},
            {"aggregated", slots.aggregated},         {"replaced", slots.replaced},
            {"departed", slots.departed()},           {"departed_riding", slots.departed_riding},
            {"departed_drain", slots.departed_drain}, {"dropped_full", slots.dropped_full},
            {"dropped_reward", slots.dropped_reward}, {"dropped_sealed", slots.dropped_sealed},
            {"dropped_misfit", slots.dropped_misfit}};
}

Json all_counters(const Snapshot &snapshot) {
    const auto &cpu = snapshot.counters;
    Json object{{"received", cpu.received}};
    object.update(event_counters(snapshot.slots));
    object["malformed"] =
        std::accumulate(std::begin(cpu.malformed), std::end(cpu.malformed), std::uint64_t{0});
    object["not_allowed"] =
        std::accumulate(std::begin(cpu.not_allowed), std::end(cpu.not_allowed), std::uint64_t{0});
    object["bypassed"] =
        std::accumulate(std::begin(cpu.bypassed), std::end(cpu.bypassed), std::uint64_t{0});
    object["dropped_contended"] = cpu.dropped_contended;
    object["updates_in"] = cpu.updates_in;
    object["updates_out"] = snapshot.slots.updates_out;
    object["updates_superseded"] = snapshot.slots.updates_superseded;
    object["updates_dropped"] = snapshot.slots.updates_dropped;
    object["updates_waiting"] = snapshot.updates_waiting;
    return object;
}

Json ack_counters(const olaf_ack_counters &acks) {
    return {{"recognised", acks.recognised},
            {"stamped", acks.stamped},
            {"kept", acks.kept},
            {"copied", acks.copied},
            {"copies", acks.copies},
            {"copies_refused", acks.copies_refused},
            {"copies_unreachable", acks.copies_unreachable},
            {"copies_foreign", acks.copies_foreign},
            {"copies_shared", acks.copies_shared},
            {"copies_unfit", acks.copies_unfit},
            {"foreign", acks.foreign},
            {"workers_unplaced", acks.unplaced},
            {"workers_deferred", acks.deferred},
            {"sources_refused", acks.sources_refused},
            {"takeovers_refused", acks.takeovers_refused}};
}

Json window_object(const olaf_config &config, const olaf_window &window) {
    if (config.window == 0)
        return nullptr;
    const bool automatic = window_of(config).automatic;
    return {{"size", automatic ? olaf_pilot_size(&window.pilot, config.window) : config.window},
            {"auto", automatic},
            {"in_flight", window.in_flight},
            {"silent", window.silent != 0},
            {"rtt_ns", window.rtt.smoothed_ns},
            {"rtt_variation_ns", window.rtt.variation_ns},
            {"timeout_ns", window_timeout_ns(window)},
            {"acked", window.acked},
            {"released", window.released},
            {"forgiven", window.forgiven},
            {"late", window.late},
            {"unmatched", window.unmatched}};
}

/// What left the queue and was then refused or dropped; null: nobody watches. The lane needs no
/// watching.
Json lost_behind(const __u64 *watched, std::uint64_t lane) {
    Json object = Json::object();
    for (std::size_t place = 0; place < lost_names.size(); place++) {
        auto &count = object[std::string(lost_names[place])];
        if (place == OLAF_LOST_LANE)
            count = lane;
        else if (watched != nullptr)
            count = watched[place];
    }
    return object;
}

Json cluster_list(const QueueState &state) {
    const auto &snapshot = state.snapshot;
    std::map<std::size_t, const ClusterAom *> aom;
    for (const auto &cluster : state.aom.clusters)
        aom[cluster.cluster] = &cluster;
    Json list = Json::array();
    for (std::size_t id = 0; id < snapshot.clusters.size(); id++) {
        const auto &sums = snapshot.clusters[id];
        if (sums.passed_through + sums.appended + sums.dropped_full + sums.dropped_sealed +
                sums.dropped_misfit ==
            0)
            continue; // never heard of
        Json object{{"cluster", id}};
        object.update(event_counters(sums));
        object["updates_out"] = sums.updates_out;
        object["updates_superseded"] = sums.updates_superseded;
        object["updates_dropped"] = sums.updates_dropped;
        object["aom"] = nullptr; // nothing has left yet
        if (const auto found = aom.find(id); found != aom.end())
            object["aom"] = cluster_aom_json(*found->second, state.aom.now_ns);
        list.push_back(std::move(object));
    }
    return list;
}

} // namespace

std::uint64_t lost_updates(const QueueState &state) {
    auto sum = state.snapshot.counters.updates_refused;
    if (state.losses)
        for (const auto updates : state.losses->updates)
            sum += updates;
    return sum;
}

Result<QueueState> read_queue(const Attachment &attachment) {
    std::map<std::string, Fd> open;
    const auto find = [&](const char *name) {
        auto fd = open_map_to_read(attachment, name);
        if (!fd)
            return -1;
        return (open[name] = std::move(*fd)).get();
    };
    const auto &config = attachment.record.config;
    auto snapshot = read_snapshot(config, find);
    if (!snapshot)
        return std::unexpected(snapshot.error());
    auto aom = read_aom(config, find);
    if (!aom)
        return std::unexpected(aom.error());
    const auto losses = read_losses(attachment);
    if (!losses)
        return std::unexpected(losses.error());
    return QueueState{std::move(*snapshot), std::move(*aom), *losses};
}

nlohmann::ordered_json status_json(const Attachment &attachment, const QueueState &state,
                                   bool clusters) {
    const auto &snapshot = state.snapshot;
    const auto &record = attachment.record;
    const auto &config = record.config;
    const auto &cpu = snapshot.counters;
    Json object{
        {"device", attachment.device},
        {"ifindex", attachment.place.ifindex},
        {"mode", record.skb_mode ? "skb" : "native"},
        {"policy", policy_name(config.default_policy)},
        {"port", ntohs(config.port_be)},
        {"deliver",
         {{"kind", deliver_names[config.deliver % 3]},
          {"target", record.target},
          {"bridge", (config.flags & OLAF_CONFIG_BRIDGE) != 0}}},
        {"rate_bps", nullptr},
        {"queue", {{"capacity", config.queue_capacity}, {"length", snapshot.queue_length}}},
        {"draining", snapshot.draining},
        {"active_clusters", snapshot.active_clusters},
        {"counters", all_counters(snapshot)},
        {"malformed_by_reason", by_reason(cpu.malformed, malformed_names)},
        {"not_allowed_by_reason", by_reason(cpu.not_allowed, refused_names)},
        {"bypassed_by_reason", by_reason(cpu.bypassed, bypass_names)},
        {"lane",
         {{"device", record.lane(attachment.place.ifindex).a},
          {"circulating", snapshot.ring.lane_deadline_ns != 0},
          {"launched", cpu.tokens_launched},
          {"ticks", cpu.lane_ticks},
          {"stale", cpu.lane_stale},
          {"kicks", cpu.lane_kicks}}},
        {"window", window_object(config, snapshot.window)},
        {"departures_failed",
         {{"unfit", cpu.departures_unfit}, {"refused", cpu.departures_refused}}},
        {"acks", ack_counters(snapshot.acks)},
        {"lost_behind",
         lost_behind(state.losses ? state.losses->frames : nullptr, cpu.departures_refused)},
        {"lost_behind_updates",
         lost_behind(state.losses ? state.losses->updates : nullptr, cpu.updates_refused)},
        {"gate",
         {{"open", snapshot.gate.lost_ns == 0},
          {"blocked_ns", blocked_ns(snapshot.gate)},
          {"next_hops_unready", snapshot.next_hops_unready},
          {"probes", cpu.gate_probes},
          {"hops_asked", cpu.hops_asked}}},
        {"aom", nullptr},
        {"passages_unmetered", cpu.passages_unmetered},
        {"events_lost", cpu.events_lost},
        {"limits",
         {{"max_clusters", config.max_clusters},
          {"max_segments", config.max_segments},
          {"max_lanes", config.max_lanes},
          {"egress_mtu", config.egress_mtu},
          {"fifo_places", config.fifo_places},
          {"max_workers", config.max_workers},
          {"member_timeout_ns", config.member_timeout_ns},
          {"drain_interval_ns", config.drain_interval_ns},
          {"activity_window_ns", config.activity_window_ns}}},
        {"allow_list", (config.flags & OLAF_CONFIG_ALLOW_LIST) != 0},
        {"strict", (config.flags & OLAF_CONFIG_STRICT) != 0},
        {"verify", (config.flags & OLAF_CONFIG_VERIFY) != 0}};
    if (config.rate_bps != 0)
        object["rate_bps"] = config.rate_bps;
    if ((config.flags & OLAF_CONFIG_NO_METER) == 0)
        object["aom"] = aom_summary_json(state.aom);
    if (clusters)
        object["clusters"] = cluster_list(state);
    return object;
}

} // namespace olaf
