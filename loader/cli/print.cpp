// SPDX-License-Identifier: BSD-2-Clause
#include "print.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <numeric>

#include "loader/datapath/config.hpp"
#include "loader/host/clock.hpp"
#include "loader/observe/report.hpp"
#include "loader/observe/status_json.hpp"
#include "loader/observe/status_text.hpp"
#include "loader/observe/verdict.hpp"
#include "loader/text/human.hpp"
#include "loader/text/json.hpp"
#include "loader/text/names.hpp"
#include "loader/text/units.hpp"

namespace olaf {
namespace {

std::string_view word(Verdict verdict) {
    switch (verdict) {
    case Verdict::good:
        return "ok";
    case Verdict::hint:
        return "note";
    case Verdict::bad:
        break;
    }
    return "MISS";
}

} // namespace

void print(const std::vector<Check> &checks, bool json) {
    if (!json) {
        for (const auto &check : checks) {
            fmt::print("{:<5} {:<18} {}\n", word(check.verdict), check.subject, check.finding);
            if (!check.remedy.empty())
                fmt::print("{:<24} -> {}\n", "", check.remedy);
        }
        return;
    }
    auto list = nlohmann::ordered_json::array();
    for (const auto &check : checks)
        list.push_back({{"subject", check.subject},
                        {"verdict", word(check.verdict)},
                        {"finding", check.finding},
                        {"remedy", check.remedy}});
    fmt::print("{}\n", json_text(list, 2));
}

namespace {

using Json = nlohmann::ordered_json;

/// How long it wasn't heard; only of one that was.
std::uint64_t silent_ns(const olaf_member &member, std::uint64_t now) {
    return now > member.last_seen_ns ? now - member.last_seen_ns : 0;
}

Json member_json(const KnownMember &known, std::uint64_t now) {
    const auto &member = known.member;
    Json object{{"worker", known.worker},
                {"address", member_address_text(member)},
                {"registered", (member.flags & OLAF_MEMBER_REGISTERED) != 0},
                {"mac", nullptr},
                {"vlans", Json::array()},
                {"silent_ns", nullptr}};
    if (member.last_seen_ns == 0)
        return object;
    const auto &m = member.mac;
    object["mac"] = fmt::format("{:02x}:{:02x}:{:02x}:{:02x}:{:02x}:{:02x}", m[0], m[1], m[2], m[3],
                                m[4], m[5]);
    for (int i = 0; i < member.tags && i < 2; i++)
        object["vlans"].push_back(ntohs(member.tag[i].tci_be) & 0xfff);
    object["silent_ns"] = silent_ns(member, now);
    return object;
}

Json listing_json(const ClusterListing &listing, std::uint64_t now) {
    Json list = Json::array();
    for (const auto &[cluster, rule, known] : listing.rows) {
        Json members = Json::array();
        for (const auto &member : known)
            members.push_back(member_json(member, now));
        Json threshold = nullptr;
        if (rule.reward_threshold >= 0)
            threshold =
                static_cast<double>(rule.reward_threshold) / (1 << OLAF_REWARD_FRACTION_BITS);
        list.push_back({{"cluster", cluster},
                        {"policy", policy_name(rule.policy)},
                        {"max_count", rule.max_count},
                        {"reward_threshold", threshold},
                        {"members", members}});
    }
    return list;
}

void print_row(const std::string &who, const olaf_rule &rule) {
    fmt::print("{:>9} {:<10} {:>9} {:>16}\n", who, policy_name(rule.policy), rule.max_count,
               reward_text(rule.reward_threshold));
}

void print_member(const KnownMember &known, std::uint64_t now) {
    const auto &member = known.member;
    const auto heard =
        member.last_seen_ns == 0
            ? std::string("never heard")
            : fmt::format("heard {:.1f} s ago", static_cast<double>(silent_ns(member, now)) / 1e9);
    fmt::print("{:>9} worker {:<5} {:<28} {}{}\n", "", known.worker, member_address_text(member),
               heard, (member.flags & OLAF_MEMBER_REGISTERED) != 0 ? ", registered" : "");
}

} // namespace

void print(const ClusterListing &listing, bool json) {
    const auto now = monotonic_ns();
    if (json) {
        fmt::print("{}\n", json_text(listing_json(listing, now), 2));
        return;
    }
    fmt::print("{:>9} {:<10} {:>9} {:>16}\n", "cluster", "policy", "max-count", "reward-threshold");
    for (const auto &row : listing.rows) {
        print_row(std::to_string(row.cluster), row.rule);
        for (const auto &member : row.members)
            print_member(member, now);
    }
    if (listing.others != 0)
        print_row(listing.rows.empty() ? "all" : "others", listing.usual);
}

void print(const JobListing &listing, bool json) {
    if (json) {
        fmt::print("{}\n", json_text(jobs_json(listing.jobs, listing.now_ns), 2));
        return;
    }
    for (const auto &job : listing.jobs)
        fmt::print("{}", job_text(job, listing.now_ns));
    if (listing.jobs.empty())
        fmt::print(stderr, "no job is set\n");
}

namespace {

using Json = nlohmann::ordered_json;

template <std::size_t N> std::uint64_t total(const __u64 (&counts)[N]) {
    return std::accumulate(std::begin(counts), std::end(counts), std::uint64_t{0});
}

Json meter_json(const MeterOptions &options, const Meter::Reading &reading,
                std::uint64_t started_ns) {
    Json clusters = Json::array();
    for (const auto &cluster : reading.aom.clusters)
        clusters.push_back(
            {{"cluster", cluster.cluster}, {"aom", cluster_aom_json(cluster, reading.aom.now_ns)}});
    return {{"device", options.device},
            {"direction", options.sent ? "sent" : "received"},
            {"port", options.port},
            {"measured_ns", reading.aom.now_ns - started_ns},
            {"messages", reading.counters.received},
            {"updates", reading.counters.updates_in},
            {"malformed", total(reading.counters.malformed)},
            {"out_of_range", total(reading.counters.not_allowed)},
            {"unread", reading.unread},
            {"unmetered", reading.counters.passages_unmetered},
            {"aom", aom_summary_json(reading.aom)},
            {"clusters", std::move(clusters)}};
}

void print_row(const ClusterAom &cluster) {
    const auto text = [](auto ns) { return human_duration(static_cast<double>(ns)); };
    const auto &age = cluster.generated;
    fmt::print("{:>8} {:>10} {:>8.2f} {:>9} {:>9} {:>9} {:>9} {:>12}\n", cluster.cluster,
               cluster.departures,
               static_cast<double>(cluster.updates) / static_cast<double>(cluster.departures),
               text(age.age_ns), text(age.average_ns()), text(age.mean_peak_ns()),
               text(age.highest_peak_ns), text(cluster.arrival.average_ns()));
}

void print_table(const MeterOptions &options, const Meter::Reading &reading,
                 std::uint64_t started_ns) {
    fmt::print("{}: {} messages {} in {}", options.device, reading.counters.received,
               options.sent ? "sent" : "received",
               human_duration(static_cast<double>(reading.aom.now_ns - started_ns)));
    const std::pair<std::uint64_t, const char *> besides[] = {
        {total(reading.counters.malformed), "malformed"},
        {total(reading.counters.not_allowed), "of clusters or segments out of range"},
        {reading.unread, "not looked into (UDP segmentation)"},
        {reading.counters.passages_unmetered, "not metered in time"}};
    for (const auto &[count, what] : besides)
        if (count != 0)
            fmt::print(", {} {}", count, what);
    fmt::print("\n{:>8} {:>10} {:>8} {:>9} {:>9} {:>9} {:>9} {:>12}\n", "cluster", "messages",
               "folded", "AoM now", "average", "peak mean", "highest", "since seen");
    for (const auto &cluster : reading.aom.clusters)
        print_row(cluster);
}

} // namespace

void print(const MeterOptions &options, const Meter::Reading &reading, std::uint64_t started_ns,
           bool json) {
    if (json)
        fmt::print("{}\n", json_text(meter_json(options, reading, started_ns), options.for_ns ? 2 : -1));
    else
        print_table(options, reading, started_ns);
    std::fflush(stdout);
}

void print(const Recording &recording, const ReportOptions &options, bool json) {
    if (json)
        fmt::print("{}\n", json_text(report_json(recording, options.clock), 2));
    else
        fmt::print("{}\n", (std::filesystem::path(options.directory) / "index.html").native());
}

bool print_line(const Reading &reading, const Rows &rows) {
    fmt::print("{}\n", json_text(live_json(reading, rows)));
    return std::fflush(stdout) == 0;
}

void print_url(const std::string &url, bool json) {
    if (json)
        fmt::print("{{\"url\": \"{}\"}}\n", url);
    else
        fmt::print("{} (the page), {}metrics\n", url, url);
    std::fflush(stdout);
}

namespace {

nlohmann::ordered_json json_of(const Attached &attached) {
    const auto &record = attached.record;
    const auto &config = record.config;
    nlohmann::ordered_json object{{"device", attached.device},
                                  {"mode", mode_name(record)},
                                  {"deliver",
                                   {{"kind", deliver_names[config.deliver]},
                                    {"target", record.target},
                                    {"bridge", (config.flags & OLAF_CONFIG_BRIDGE) != 0}}},
                                  {"queue", config.queue_capacity},
                                  {"max_lanes", config.max_lanes}};
    object["rate_bps"] = nullptr;
    if (config.rate_bps != 0)
        object["rate_bps"] = config.rate_bps;
    object["memory_bytes"] = attached.memory_bytes;
    object["hw_reason"] = nullptr;
    if (record.hw_reason[0] != '\0')
        object["hw_reason"] = std::string(record.hw_reason);
    object["window"] = window_text(window_of(config));
    return object;
}

/// "in: queue of 2048 live, native mode, …".
std::string text_of(const Attached &attached, const char *state) {
    const auto &record = attached.record;
    const auto &config = record.config;
    return fmt::format("{}: queue of {} {}, {} mode, port {}, policy {}, rate {}{}, delivers {}{}, "
                       "maps take {}\n",
                       attached.device, config.queue_capacity, state,
                       mode_name(record), ntohs(config.port_be),
                       policy_name(config.default_policy), rate_text(config.rate_bps),
                       config.window != 0 ? ", window " + window_text(window_of(config)) : "",
                       deliver_names[config.deliver],
                       record.target[0] != '\0' ? fmt::format(" to {}", record.target) : "",
                       size_text(attached.memory_bytes));
}

nlohmann::ordered_json json_of(const AttachPlan &plan) {
    auto object = json_of(plan.would);
    auto programs = nlohmann::ordered_json::array();
    for (const auto &[program, hook, device] : plan.programs)
        programs.push_back({{"program", program}, {"hook", hook}, {"device", device}});
    auto devices = nlohmann::ordered_json::array(), shaped = nlohmann::ordered_json::array();
    if (plan.would.record.on_card == 0) {
        devices = {plan.drain_a, plan.drain_b};
        shaped = {plan.drain_a};
    }
    object["dry_run"] = {{"programs", std::move(programs)},
                         {"devices", devices},
                         {"qdiscs", {{"tbf", shaped}, {"clsact", plan.clsact}}}};
    return object;
}

} // namespace

void print(const Attached &attached, bool json) {
    fmt::print("{}", json ? json_text(json_of(attached)) + "\n" : text_of(attached, "live"));
}

void print(const AttachPlan &plan, bool json) {
    if (json) {
        fmt::print("{}\n", json_text(json_of(plan)));
        return;
    }
    fmt::print("{}", text_of(plan.would, "would be live"));
    for (const auto &[program, hook, device] : plan.programs)
        fmt::print("  {:<9} {} at {}{}\n", "program", program, hook,
                   device.empty() ? "" : " of " + device);
    if (plan.would.record.on_card != 0) {
        fmt::print("  nothing was changed (--dry-run)\n");
        return;
    }
    fmt::print("  {:<9} {} and {}, a veth pair: the drain\n", "devices", plan.drain_a,
               plan.drain_b);
    fmt::print("  {:<9} tbf on {}; clsact on {}{}\n", "qdiscs", plan.drain_a,
               fmt::join(plan.clsact, ", "),
               plan.existing_clsact.empty()
                   ? ""
                   : fmt::format("; {} has one already", fmt::join(plan.existing_clsact, ", ")));
    fmt::print("  nothing was changed (--dry-run)\n");
}

void print(const Detached &detached, bool json) {
    if (json)
        fmt::print("{}\n", json_text(nlohmann::ordered_json{{"device", detached.device},
                                                  {"detached", true},
                                                  {"updates_dropped", detached.updates_dropped},
                                                  {"results_dropped", detached.results_dropped},
                                                  {"chunks_dropped", detached.chunks_dropped}}));
    else
        fmt::print("{}: detached\n", detached.device);
}

void print(const Reset &reset, bool json) {
    if (json)
        fmt::print("{}\n", json_text(nlohmann::ordered_json{{"device", reset.device},
                                                  {"reset", true},
                                                  {"updates_waiting", reset.updates_waiting}}));
    else if (reset.updates_waiting == 0)
        fmt::print("{}: all figures start anew\n", reset.device);
    else
        fmt::print("{}: all figures start anew; what waits counts as just arrived: {} {}\n",
                   reset.device, reset.updates_waiting,
                   reset.updates_waiting == 1 ? "update" : "updates");
}

namespace {

constexpr auto line = "{:>9} {:>9} {:>9} {:>6} {:>9} {:>9} {:>9} {:>9}  {}\n";
constexpr std::uint32_t lines_of_a_page = 20;

} // namespace

bool print_rates(const Reading &reading, const Rows &rows, std::uint32_t number) {
    const auto per_second = [&](std::uint64_t count) {
        return human_count(rows.seconds > 0 ? static_cast<double>(count) / rows.seconds : 0);
    };
    if (number % lines_of_a_page == 0)
        fmt::print(line, "msgs in/s", "out/s", "updates/s", "fold", "waiting", "refused/s",
                   "dropped/s", "lost/s", "state");
    const auto &recent = rows.recent;
    fmt::print(line, per_second(recent.received), per_second(recent.messages_out),
               per_second(recent.updates_out), fmt::format("{:.2f}", recent.fold_factor()),
               reading.snapshot.levels.queue_length, per_second(recent.refused),
               per_second(recent.dropped), per_second(recent.updates_lost),
               verdict_line(judge(reading.attachment, reading, reading.host).first));
    return std::fflush(stdout) == 0;
}

namespace {

using Json = nlohmann::ordered_json;

Json json_of(const QueueStatus &status, bool clusters) {
    if (!status.reading)
        return {{"device", status.attachment.device}, {"verdict", verdict_json(status.verdict())}};
    return status_json(status.attachment, *status.reading, status.host, clusters);
}

std::string text_of(const QueueStatus &status, bool clusters) {
    if (!status.reading)
        return verdict_text(status.attachment, status.verdict());
    return status_text(status.attachment, *status.reading, status.host, clusters);
}

} // namespace

void print(const QueueStatus &status, bool clusters, bool json) {
    fmt::print("{}", json ? json_text(json_of(status, clusters), 2) + "\n" : text_of(status, clusters));
}

void print(const std::vector<QueueStatus> &all, bool clusters, bool json) {
    if (json) {
        auto list = Json::array();
        for (const auto &status : all)
            list.push_back(json_of(status, clusters));
        fmt::print("{}\n", json_text(list, 2));
        return;
    }
    for (const auto &status : all)
        fmt::print("{}", text_of(status, clusters));
    if (all.empty())
        fmt::print(stderr, "no queue is attached in this network namespace\n");
}

void print(const std::vector<NamespaceStatus> &all, bool clusters, bool json) {
    if (json) {
        auto list = Json::array();
        for (const auto &[netns, queues] : all)
            for (const auto &status : queues) {
                auto object = json_of(status, clusters);
                object["netns"] = netns;
                list.push_back(std::move(object));
            }
        fmt::print("{}\n", json_text(list, 2));
        return;
    }
    for (const auto &[netns, queues] : all) {
        fmt::print("network namespace {}\n", netns);
        for (const auto &status : queues)
            fmt::print("{}", text_of(status, clusters));
    }
    if (all.empty())
        fmt::print(stderr, "no queue is attached in any network namespace\n");
}

} // namespace olaf
