// SPDX-License-Identifier: BSD-2-Clause
#include "status_json.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <map>

#include "aom_json.hpp"
#include "flow.hpp"
#include "jobs_json.hpp"
#include "loader/datapath/config.hpp"
#include "loader/text/human.hpp"
#include "loader/text/names.hpp"

namespace olaf {
namespace {

using Json = nlohmann::ordered_json;

Json window_object(const olaf_config &config, const std::optional<olaf_window> &window) {
    if (!window)
        return nullptr;
    const bool automatic = window_of(config).automatic;
    return {{"size", window_size(config, *window)},
            {"auto", automatic},
            {"silent", window->silent != 0},
            {"rtt_ns", window->rtt.smoothed_ns},
            {"rtt_variation_ns", window->rtt.variation_ns},
            {"timeout_ns", window_timeout_ns(*window)}};
}

Json finding_json(const Finding &finding) {
    return {{"state", health_name(finding.health)},
            {"text", finding.text},
            {"since_ns", finding.since_ns ? Json(*finding.since_ns) : Json(nullptr)},
            {"last_ns", finding.last_ns ? Json(*finding.last_ns) : Json(nullptr)},
            {"remedy", finding.remedy}};
}

/// When it was attached and last replaced; null: not known, or never.
Json attached_object(const Record &record, const HostState &host, std::uint64_t now_ns) {
    const auto ago = [&](std::uint64_t moment_ns) {
        return moment_ns == 0 ? Json(nullptr) : Json(now_ns - std::min(moment_ns, now_ns));
    };
    const auto for_ns = ago(record.attached_ns);
    return {{"since", for_ns.is_null()
                          ? Json(nullptr)
                          : Json(utc_text(host.wall_ns - for_ns.get<std::uint64_t>()))},
            {"for_ns", for_ns},
            {"replaced_for_ns", ago(record.replaced_ns)}};
}

Json limits_object(const olaf_config &config, bool of_card) {
    Json object{{"max_clusters", config.max_clusters},
            {"max_segments", config.max_segments},
            {"max_lanes", config.max_lanes},
            {"egress_mtu", config.egress_mtu},
            {"fifo_places", config.fifo_places},
            {"round_slots", config.round_slots},
            {"max_workers", config.max_workers},
            {"member_timeout_ns", config.member_timeout_ns},
            {"drain_interval_ns", config.drain_interval_ns},
            {"activity_window_ns", config.activity_window_ns}};
    if (of_card)
        object["max_workers"] = object["member_timeout_ns"] = nullptr;
    return object;
}

Json drain_object(const Attachment &attachment, const QueueReading &state) {
    if (state.card)
        return {{"device", nullptr}, {"peer", nullptr}, {"qdisc", nullptr}, {"circulating", nullptr}};
    const auto drain = attachment.record.drain(attachment.place.ifindex);
    return {{"device", drain.a},
            {"peer", drain.b},
            {"qdisc", "tbf"},
            {"circulating", state.snapshot.ring.drain_deadline_ns != 0}};
}

Json gate_object(const QueueReading &state) {
    if (state.card)
        return {{"open", nullptr}, {"blocked_ns", nullptr}, {"next_hops_unready", nullptr}};
    const auto &snapshot = state.snapshot;
    return {{"open", snapshot.gate.lost_ns == 0},
            {"blocked_ns", blocked_ns(snapshot.gate, state.aom.now_ns)},
            {"next_hops_unready", snapshot.unready_hops.size()}};
}

/// Where the queue is, and why.
Json hw_object(const Attachment &attachment, const QueueReading &state) {
    constexpr const char *asked[] = {"off", "auto", "require"};
    const auto &record = attachment.record;
    const std::string reason = record.hw_reason;
    return {{"asked", asked[record.hw_asked % 3]},
            {"reason", reason.empty() ? Json(nullptr) : Json(reason)},
            {"card", state.card && attachment.card ? Json(*attachment.card) : Json(nullptr)},
            {"lost", state.card ? Json(state.lost()) : Json(nullptr)}};
}

/// Every counter and level of the list, in the object of its group.
void add_figures(Json &object, const Numbers &numbers) {
    for (const auto &figure : figures()) {
        auto &into = figure.object.empty() ? object : object[std::string(figure.object)];
        if (figure.object == "window" && numbers.window == nullptr)
            continue;
        const auto value = figure.in(numbers);
        into[std::string(figure.key)] = value ? Json(*value) : Json(nullptr);
    }
}

Json cluster_list(const QueueReading &state) {
    const auto &snapshot = state.snapshot;
    std::map<std::size_t, const ClusterAom *> aom;
    for (const auto &cluster : state.aom.clusters)
        aom[cluster.cluster] = &cluster;
    Json list = Json::array();
    for (std::size_t id = 0; id < snapshot.clusters.size(); id++) {
        const auto &sums = snapshot.clusters[id];
        if (flow_of(sums).received == 0)
            continue; // never heard of
        Json object{{"cluster", id}};
        const Numbers numbers{.slots = &sums};
        for (const auto &figure : figures())
            if (const auto value = figure.in(numbers))
                object[std::string(figure.key)] = *value;
        object["aom"] = nullptr; // nothing has left yet
        if (const auto found = aom.find(id); found != aom.end())
            object["aom"] = cluster_aom_json(*found->second, state.aom.now_ns);
        list.push_back(std::move(object));
    }
    return list;
}

} // namespace

std::vector<std::string> clsact_added(const Attachment &attachment, const HostState &host) {
    std::vector<std::string> devices;
    if (attachment.record.clsact_ours != 0)
        devices.push_back(attachment.device);
    if (attachment.record.return_clsact_ours != 0 && !host.output.empty())
        devices.push_back(host.output);
    return devices;
}

nlohmann::ordered_json verdict_json(const QueueVerdict &verdict) {
    Json object = finding_json(verdict.first), besides = Json::array();
    for (const auto &finding : verdict.besides)
        besides.push_back(finding_json(finding));
    object["besides"] = std::move(besides);
    return object;
}

nlohmann::ordered_json status_json(const Attachment &attachment, const QueueReading &state,
                                   const HostState &host, bool clusters) {
    const auto &snapshot = state.snapshot;
    const auto &record = attachment.record;
    const auto &config = record.config;
    Json object{
        {"device", attachment.device},
        {"verdict", verdict_json(judge(attachment, state, host))},
        {"ifindex", attachment.place.ifindex},
        {"mode", mode_name(record)},
        {"hw", hw_object(attachment, state)},
        {"policy", policy_name(config.default_policy)},
        {"port", ntohs(config.port_be)},
        {"deliver",
         {{"kind", deliver_names[config.deliver % 3]},
          {"target", record.target},
          {"bridge", (config.flags & OLAF_CONFIG_BRIDGE) != 0}}},
        {"rate_bps", nullptr},
        {"queue", {{"capacity", config.queue_capacity}}},
        {"emptying", snapshot.emptying},
        {"active_clusters", state.lost() ? Json(nullptr) : Json(snapshot.active_clusters)},
        {"drain", drain_object(attachment, state)},
        {"window", window_object(config, snapshot.window)},
        {"gate", gate_object(state)},
        {"aom", nullptr},
        {"limits", limits_object(config, state.card.has_value())},
        {"allow_list", (config.flags & OLAF_CONFIG_ALLOW_LIST) != 0},
        {"strict", (config.flags & OLAF_CONFIG_STRICT) != 0},
        {"verify", (config.flags & OLAF_CONFIG_VERIFY) != 0}};
    object["attached"] = attached_object(record, host, state.aom.now_ns);
    object["allowed"] = host.allowed;
    object["clsact_added"] = clsact_added(attachment, host);
    object["memory_bytes"] = host.memory_bytes;
    object["own_addresses"] = {{"unknown", host.own.unknown}, {"gone", host.own.gone}};
    add_figures(object, state.numbers());
    object["jobs"] = jobs_json(state.jobs, state.aom.now_ns);
    object["deaths_unseen"] = nullptr;
    if (state.deaths_unseen)
        object["deaths_unseen"] = *state.deaths_unseen;
    if (config.rate_bps != 0)
        object["rate_bps"] = config.rate_bps;
    if ((config.flags & OLAF_CONFIG_NO_METER) == 0 && !state.card)
        object["aom"] = aom_summary_json(state.aom);
    if (clusters)
        object["clusters"] = cluster_list(state);
    return object;
}

} // namespace olaf
