// SPDX-License-Identifier: BSD-2-Clause
#include "status_json.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "loader/datapath/config.hpp"
#include "loader/text/human.hpp"
#include "loader/text/job_counters.hpp"
#include "loader/text/names.hpp"
#include "rows.hpp"
#include "status_text.hpp"

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

namespace {

Json members_json(const JobReading &job, std::uint64_t now_ns) {
    Json members = Json::array();
    for (const auto &[rank, member] : job.members) {
        const auto silent = silent_ns(member, now_ns);
        members.push_back({{"rank", rank},
                           {"address", member_address_text(member)},
                           {"bound", (member.flags & OLAF_MEMBER_REGISTERED) != 0},
                           {"silent_ns", silent ? Json(*silent) : Json(nullptr)}});
    }
    return members;
}

/// Bits behind the binary point of what is added; null: integers are.
Json float_bits_json(const olaf_job_setup &setup) {
    return olaf_shape_is_floats(setup.shape) != 0 ? Json(setup.float_bits) : Json(nullptr);
}

/// Where results for all go; null: to each child.
Json fanout_json(const olaf_job_setup &setup) {
    if (setup.group_family == 0)
        return nullptr;
    return {{"group", group_text(setup)}, {"hops", setup.group_hops}};
}

/// Name of the device that the parent is behind; null: the queue's own, or it has gone.
Json parent_device_json(const olaf_job_setup &setup) {
    const auto name = parent_device_name(setup);
    return name.empty() ? Json(nullptr) : Json(name);
}

/// This node's place below another one; null: it is the root.
Json parent_json(const olaf_job_setup &setup) {
    if (setup.parent_family == 0)
        return nullptr;
    const auto group = parent_group_text(setup);
    return {{"address", parent_text(setup)},
            {"rank", setup.rank},
            {"device", parent_device_json(setup)},
            {"group", group.empty() ? Json(nullptr) : Json(group)}};
}

/// `alias`: of its training.
Json run_json(std::uint64_t alias, std::uint64_t number) {
    if (alias == 0)
        return nullptr;
    return {{"training", training_text(alias)}, {"number", number}};
}

Json run_json(const olaf_run &run) {
    return run_json(run.training == 0 ? 0 : olaf_training_alias(run.training), run.number);
}

Json job_json(const JobReading &job, std::uint64_t now_ns) {
    const auto &setup = job.job.setup;
    Json object{{"job", setup.id},
                {"role", setup.parent_family == 0 ? "root" : "node"},
                {"state", job_state(job)},
                {"waiting_for", job.waiting_for()},
                {"children", setup.children},
                {"absent", job.absent()},
                {"threshold", setup.threshold},
                {"set_threshold", setup.set_threshold},
                {"any", (setup.flags & OLAF_JOB_ANY) != 0},
                {"max_count", setup.max_count},
                {"deadline_ns", setup.deadline_ns == 0 ? Json(nullptr) : Json(setup.deadline_ns)},
                {"generation", job.job.generation},
                {"run", run_json(job.job.tenancy.run)},
                {"run_ranks", job.in_run()},
                {"only_run", run_json(setup.run.training, setup.run.number)},
                {"pool", setup.slots},
                {"first_slot", setup.first_slot},
                {"lanes", setup.lanes},
                {"format", job_format_name(setup.shape)},
                {"checksum", (setup.shape & OLAF_FLAG_CHECKSUM) != 0},
                {"float_bits", float_bits_json(setup)},
                {"multicast", fanout_json(setup)},
                {"parent", parent_json(setup)},
                {"members", members_json(job, now_ns)}};
    for (const auto &counter : job_counters()) {
        auto &into = counter.object.empty() ? object : object[std::string(counter.object)];
        into[std::string(counter.key)] = counter.in(job.counters);
    }
    object["chunks"]["open"] = job.open;
    object["chunks"]["up"] = job.up;
    // What is owed may yet be delivered: at rest both together are what nobody has got.
    object["results"]["undelivered"] = job.counters.undelivered + job.owed;
    return object;
}

} // namespace

nlohmann::ordered_json jobs_json(const std::vector<JobReading> &jobs, std::uint64_t now_ns) {
    Json list = Json::array();
    for (const auto &job : jobs)
        list.push_back(job_json(job, now_ns));
    return list;
}

namespace {

Json flow_json(const Flow &total, const Flow &recent, double seconds) {
    const auto rate = [&](std::uint64_t count) {
        return seconds > 0 ? static_cast<double>(count) / seconds : 0.0;
    };
    return {{"received", total.received},
            {"departed", total.departed},
            {"messages_out", total.messages_out},
            {"updates_out", total.updates_out},
            {"dropped", total.dropped},
            {"received_per_s", rate(recent.received)},
            {"departed_per_s", rate(recent.departed)},
            {"messages_out_per_s", rate(recent.messages_out)},
            {"updates_out_per_s", rate(recent.updates_out)},
            {"dropped_per_s", rate(recent.dropped)},
            {"fold_factor", recent.fold_factor()}};
}

Json cluster_json(const ClusterRow &row, double seconds, std::uint64_t now_ns) {
    Json object{{"cluster", row.cluster}};
    object.update(flow_json(row.total, row.recent, seconds));
    object["aom"] = nullptr; // nothing has left yet
    object["recent_average"] = object["recent_peak"] = nullptr;
    object["idle"] = row.idle;
    if (row.aom.segments > 0) {
        object["aom"] = cluster_aom_json(row.aom, now_ns);
        object["recent_average"] = {{"by_arrival_ns", row.arrival.average_ns()},
                                    {"by_generated_ns", row.generated.average_ns()}};
        object["recent_peak"] = {{"by_arrival_ns", row.arrival.highest_ns},
                                 {"by_generated_ns", row.generated.highest_ns}};
    }
    return object;
}

Json job_json(const JobRow &row) {
    return {{"job", row.job},
            {"state", row.state},
            {"members", row.heard},
            {"children", row.children},
            {"contributions_per_s", row.contributions_per_s},
            {"chunks_per_s", row.chunks_per_s},
            {"open", row.open},
            {"up", row.up},
            {"late", row.late},
            {"stale", row.stale},
            {"group", row.group.empty() ? Json(nullptr) : Json(row.group)}};
}

} // namespace

nlohmann::ordered_json live_json(const Reading &latest, const Rows &rows) {
    Json clusters = Json::array();
    for (const auto &row : rows.clusters)
        clusters.push_back(cluster_json(row, rows.seconds, latest.aom.now_ns));
    Json jobs = Json::array();
    for (const auto &row : rows.jobs)
        jobs.push_back(job_json(row));
    auto total = flow_json(rows.total, rows.recent, rows.seconds);
    if (latest.lost())
        for (auto &figure : total)
            figure = nullptr; // not known, which isn't none
    return {{"time_ns", latest.aom.now_ns},
            {"interval_s", rows.seconds},
            {"total", std::move(total)},
            {"status", status_json(latest.attachment, latest, latest.host, false)},
            {"clusters", std::move(clusters)},
            {"jobs", std::move(jobs)}};
}

nlohmann::ordered_json counters_json() {
    Json list = Json::array();
    for (const auto &figure : figures())
        list.push_back({{"path", figure.path()},
                        {"object", figure.object},
                        {"key", figure.key},
                        {"unit", figure.unit},
                        {"meaning", figure.meaning}});
    return list;
}

namespace {

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
        return {{"open", nullptr},
                {"blocked_ns", nullptr},
                {"xdp_shut_cpus", nullptr},
                {"next_hops_unready", nullptr}};
    const auto &snapshot = state.snapshot;
    return {{"open", snapshot.gate.lost_ns == 0},
            {"blocked_ns", blocked_ns(snapshot.gate, state.aom.now_ns)},
            {"xdp_shut_cpus", snapshot.xdp_gate.shut},
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
    object["netfilter_chains"] = host.chains;
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
