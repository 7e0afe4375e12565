// SPDX-License-Identifier: BSD-2-Clause
#include "status_text.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "loader/attachment/card.hpp"
#include "loader/attachment/plan.hpp"
#include "loader/datapath/config.hpp"
#include "loader/host/device.hpp"
#include "loader/text/human.hpp"
#include "loader/text/job_counters.hpp"
#include "loader/text/names.hpp"
#include "rows.hpp"
#include "status_json.hpp"
#include "verdict.hpp"

namespace olaf {
namespace {

std::string line(std::string_view title, const std::string &text) {
    return fmt::format("  {:<11} {}\n", title, text);
}

/// What more there is to say of a lane.
std::string shape_text(const olaf_job_setup &setup) {
    if (olaf_shape_is_floats(setup.shape) != 0)
        return fmt::format(", added with {} bits behind the point", setup.float_bits);
    return (setup.shape & OLAF_FLAG_CHECKSUM) != 0 ? " with a checksum" : "";
}

std::string setup_text(const JobReading &job) {
    const auto &setup = job.job.setup;
    const bool any = (setup.flags & OLAF_JOB_ANY) != 0;
    auto text = fmt::format("{}, {} of {} {}", job_state(job),
                            setup.parent_family == 0 ? "root" : "node", setup.children,
                            setup.children == 1 ? "child" : "children");
    if (const auto absent = job.absent(); !absent.empty())
        text += " without rank" + std::string(absent.size() == 1 ? " " : "s ") + ranks_text(absent);
    const bool by_a_worker = setup.threshold != setup.set_threshold;
    if (any || by_a_worker || setup.threshold != setup.children)
        text += fmt::format(", {}{} complete a chunk", any ? "any " : "", setup.threshold);
    if (by_a_worker)
        text += fmt::format(" (a worker said so; set: {})", setup.set_threshold);
    if (setup.deadline_ns != 0)
        text += ", deadline " + human_duration(static_cast<double>(setup.deadline_ns));
    text += fmt::format(", {} slots, {} lanes of {}{}, generation {}", setup.slots, setup.lanes,
                        job_format_name(setup.shape), shape_text(setup), job.job.generation);
    if (setup.parent_family != 0)
        text += fmt::format(", rank {} of {}", setup.rank, parent_text(setup));
    if (setup.parent_ifindex != 0) {
        const auto name = parent_device_name(setup);
        text += name.empty() ? " behind a device that has gone" : " behind " + name;
    }
    if (const auto group = parent_group_text(setup); !group.empty())
        text += ", whose results come to " + group;
    if (setup.group_family != 0)
        text += fmt::format(", results by multicast to {}", group_text(setup));
    if (setup.group_family != 0 && setup.group_hops != 1)
        text += fmt::format(", at most {} hops", setup.group_hops);
    return text;
}

/// "contributions 12 received, 9 added, 3 late": those of an object that aren't 0; "" if all are.
/// The job's own stand in none: "3 probes".
std::string object_text(std::string_view object, const olaf_job_counters &counters) {
    std::string text;
    for (const auto &counter : job_counters())
        if (const auto value = counter.in(counters); counter.object == object && value != 0)
            text += fmt::format("{}{} {}", text.empty() ? "" : ", ", value, counter.key);
    return text.empty() || object.empty() ? text : fmt::format("{} {}", object, text);
}

std::string member_text(const KnownMember &known, std::uint64_t now_ns) {
    const auto silent = silent_ns(known.member, now_ns);
    return fmt::format("rank {:<4} {:<28} {}{}", known.worker, member_address_text(known.member),
                       silent ? fmt::format("heard {} ago",
                                            human_duration(static_cast<double>(*silent)))
                              : "never heard",
                       (known.member.flags & OLAF_MEMBER_REGISTERED) != 0 ? ", bound" : "");
}

} // namespace

std::string_view job_state(const JobReading &job) {
    if (job.job.halted != 0)
        return "halted";
    return job.job.state == OLAF_JOB_RUNNING ? "running" : "syncing";
}

std::optional<std::uint64_t> silent_ns(const olaf_member &member, std::uint64_t now_ns) {
    if (member.last_seen_ns == 0)
        return {};
    return now_ns - std::min<std::uint64_t>(member.last_seen_ns, now_ns);
}

std::string parent_text(const olaf_job_setup &setup) {
    const auto address = address_of(setup.parent_family, setup.parent_addr_be);
    return endpoint_text({.address = address, .port = ntohs(setup.parent_port_be)});
}

std::string parent_device_name(const olaf_job_setup &setup) {
    const auto device = setup.parent_ifindex != 0 ? find_device(setup.parent_ifindex)
                                                  : Result<Device>(std::unexpected(Error{}));
    return device ? device->name : "";
}

std::string group_text(const olaf_job_setup &setup) {
    return address_text(address_of(setup.group_family, setup.group_addr_be));
}

std::string parent_group_text(const olaf_job_setup &setup) {
    if ((setup.flags & OLAF_JOB_PARENTS_GROUP) == 0)
        return "";
    return address_text(address_of(setup.parent_family, setup.parent_group_be));
}

std::string ranks_text(const std::vector<std::uint32_t> &ranks) {
    std::string text;
    for (std::size_t i = 0; i < ranks.size();) {
        std::size_t end = i + 1;
        while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1)
            end++;
        text += (text.empty() ? "" : ", ") + std::to_string(ranks[i]);
        if (end - i > 2)
            text += fmt::format(" ... {}", ranks[end - 1]);
        else if (end - i == 2)
            text += fmt::format(", {}", ranks[end - 1]);
        i = end;
    }
    return text;
}

namespace {

/// Whose it is, and whose it may be alone.
std::string run_text(const JobReading &job) {
    const auto name = [](std::uint64_t alias, std::uint64_t number) {
        return training_text(alias) + (number == 0 ? "" : fmt::format(" number {}", number));
    };
    const auto &has = job.job.tenancy.run, &only = job.job.setup.run;
    std::string text = has.training == 0 ? "no run has it"
                                         : "run " + name(olaf_training_alias(has.training), has.number);
    if (const auto ranks = job.in_run(); !ranks.empty())
        text += fmt::format(" of rank{} {}", ranks.size() == 1 ? "" : "s", ranks_text(ranks));
    if (only.training != 0)
        text += ", set for " + name(only.training, only.number) + " alone";
    return text;
}

/// What it is, and what became of contributions, chunks and results: as lines of a status.
std::string job_lines(const JobReading &job) {
    auto text = line(fmt::format("job {}", job.id()), setup_text(job));
    text += line("", run_text(job));
    if (const auto waiting = job.waiting_for(); !waiting.empty())
        text += line("", fmt::format("waits for rank{} {} to ask where to begin",
                                     waiting.size() == 1 ? "" : "s", ranks_text(waiting)));
    auto counters = job.counters;
    counters.undelivered += job.owed;
    for (const auto *object : {"contributions", "chunks", "results", "up", "float", ""})
        if (auto told = object_text(object, counters); !told.empty()) {
            if (std::string_view(object) == "chunks" && job.open + job.up != 0)
                told += fmt::format(", {} open, {} up", job.open, job.up);
            text += line("", told);
        }
    return text;
}

} // namespace

std::string job_text(const JobReading &job, std::uint64_t now_ns) {
    auto text = job_lines(job);
    for (const auto &member : job.members)
        text += line("", member_text(member, now_ns));
    return text;
}

namespace {

/// "12 full", or "12 messages" for what the whole line is about; "" if it is 0 or not known.
std::string one_text(const Figure &figure, const Numbers &numbers, const olaf_config &config) {
    const auto value = figure.in(numbers).value_or(0);
    if (value == 0)
        return "";
    const auto words = words_of(figure, config);
    return fmt::format("{} {}", value, words.empty() ? unit_text(value, figure.unit) : words);
}

/// " (3 riding, 9 drain)": the figures that a sum is made of.
std::string figure_parts(const Figure &sum, const Numbers &numbers, const olaf_config &config) {
    std::string text;
    for (const auto &figure : figures())
        if (figure.group == sum.group && figure.sum == sum.key)
            if (const auto part = one_text(figure, numbers, config); !part.empty())
                text += (text.empty() ? " (" : ", ") + part;
    return text.empty() ? text : text + ")";
}

/// Whether all that a group counts are reasons of one thing.
bool tells_reasons(olaf_group group) {
    return counter_groups()[group].loses || group == OLAF_GROUP_bypassed ||
           group == OLAF_GROUP_lost_behind_updates;
}

/// "231 messages: cluster id 1024 or above".
std::string why_text(olaf_group group, const Numbers &numbers, const olaf_config &config) {
    const auto total = group_total(group, numbers);
    if (total == 0)
        return "";
    return fmt::format("{} {}: {}", total, unit_text(total, whole_figures(group)[0]->unit),
                       reasons_text(group, numbers, config));
}

/// What there is to know besides the verdict.
std::string finding_text(const Finding &finding) {
    return line("also", also_line(finding)) +
           (finding.remedy.empty() ? "" : line("", "-> " + finding.remedy));
}

std::string attached_text(const Attachment &attachment) {
    const auto &record = attachment.record;
    const auto &config = record.config;
    const std::string target = record.target;
    const auto *bridge = (config.flags & OLAF_CONFIG_BRIDGE) != 0 ? ", bridging" : "";
    return fmt::format("{} mode, port {}, policy {}, rate {}, delivers {}{}",
                       mode_name(record), ntohs(config.port_be),
                       policy_name(config.default_policy), rate_text(config.rate_bps),
                       deliver_names[config.deliver % 3],
                       target.empty() ? "" : " to " + target + bridge);
}

/// "2026-11-22T07:31:05Z, for 2.10h"; "" where it isn't known.
std::string since_text(const Record &record, const HostState &host, std::uint64_t now_ns) {
    if (record.attached_ns == 0)
        return "";
    const auto ago = now_ns - std::min(record.attached_ns, now_ns);
    auto text = fmt::format("{}, for {}", utc_text(host.wall_ns - ago),
                            human_duration(static_cast<double>(ago)));
    if (record.replaced_ns != 0)
        text += fmt::format(", programs replaced {} ago",
                            human_duration(static_cast<double>(
                                now_ns - std::min(record.replaced_ns, now_ns))));
    return line("since", text);
}

/// Whose updates it takes, where that isn't everybody's.
std::string takes_text(const olaf_config &config, const HostState &host) {
    std::string text;
    if (!host.allowed.empty())
        text = fmt::format("updates from {} only", fmt::join(host.allowed, ", "));
    if ((config.flags & OLAF_CONFIG_STRICT) != 0)
        text += std::string(text.empty() ? "" : "; ") + "registered workers only (--strict)";
    if ((config.flags & OLAF_CONFIG_VERIFY) == 0)
        text += std::string(text.empty() ? "" : "; ") + "wrong UDP checksums too (--no-verify)";
    return text.empty() ? "" : line("takes", text);
}

/// What there is on the host because of the queue.
std::string devices_text(const Attachment &attachment, const HostState &host) {
    const auto drain = attachment.record.drain(attachment.place.ifindex);
    const auto clsact = clsact_added(attachment, host);
    return line("devices",
                fmt::format("{} and {}, the drain's veth pair, with qdisc tbf{}{}", drain.a, drain.b,
                            clsact.empty() ? ""
                                           : fmt::format("; qdisc clsact on {}",
                                                         fmt::join(clsact, ", ")),
                            host.output_program ? fmt::format("; an XDP program on {} that passes "
                                                              "every frame",
                                                              host.output)
                                                : ""));
}

/// The card, or why there is none where one was to be had.
std::string hardware_text(const Attachment &attachment, const QueueReading &reading) {
    const std::string reason = attachment.record.hw_reason;
    if (reading.card)
        return line("card", attachment.card.value_or("unknown") + (reading.lost() ? ", lost" : ""));
    return reason.empty() || reason.starts_with(no_card) ? "" : line("kernel", "no card: " + reason);
}

std::string cluster_count(std::ptrdiff_t clusters, const char *which) {
    return fmt::format("{} {}{}", clusters, which, clusters == 1 ? "cluster" : "clusters");
}

std::string queue_text(const olaf_config &config, const Snapshot &snapshot, const HostState &host) {
    return fmt::format("{} of {} waiting, {}, maps take {}{}", snapshot.levels.queue_length,
                       config.queue_capacity, cluster_count(snapshot.active_clusters, "active "),
                       size_text(host.memory_bytes),
                       snapshot.emptying ? ", a command is emptying it" : "");
}

std::string window_text(const olaf_config &config, const olaf_window &window) {
    return fmt::format("size {}{}, round trip {}{}", window_size(config, window),
                       window_of(config).automatic ? " (auto)" : "",
                       human_duration(static_cast<double>(window.rtt.smoothed_ns)),
                       window.silent != 0 ? ", the server is silent" : "");
}

std::string ages(const ClockSummary &clock) {
    return fmt::format("average {}, oldest {}, highest {}", human_duration(clock.average_ns),
                       human_duration(static_cast<double>(clock.oldest_ns)),
                       human_duration(static_cast<double>(clock.peak_highest_ns)));
}

/// Of the last minute, unless nothing has left in it.
std::string minute_lines(const AomReading &aom) {
    const auto idle = std::ranges::count_if(aom.clusters, &ClusterAom::idle);
    const auto busy = static_cast<std::ptrdiff_t>(aom.clusters.size()) - idle;
    if (busy == 0)
        return line("age", cluster_count(idle, "idle ") + ": nothing has left for a minute");
    const auto arrival = minute_of(aom, &ClusterAom::arrival);
    return line("age", fmt::format("in the last minute, of {}{}", cluster_count(busy, ""),
                                   idle == 0 ? "" : ", without " + cluster_count(idle, "idle "))) +
           line("", fmt::format("{} since arrival, fairness {:.3g}", ages(arrival),
                                arrival.fairness)) +
           line("", ages(minute_of(aom, &ClusterAom::generated)) + " since generated");
}

/// Of all time, until each cluster's last departure.
std::string settled_line(const AomReading &aom) {
    const auto text = [](const ClockSummary &clock) {
        return fmt::format("average {}, highest peak {}", human_duration(clock.average_ns),
                           human_duration(static_cast<double>(clock.peak_highest_ns)));
    };
    return line("", fmt::format("from the first departure to the last: {} since arrival, {} since "
                                "generated",
                                text(settled_of(aom, &ClusterAom::arrival)),
                                text(settled_of(aom, &ClusterAom::generated))));
}

/// Where ages since updates were generated can't be: the kernel keeps how much they are behind, and of those
/// ahead only how many.
std::string clocks_line(const AomReading &aom) {
    std::uint64_t departures = 0, ahead = 0;
    double behind = 0;
    for (const auto &each : aom.clusters) {
        departures += each.departures;
        ahead += each.from_future;
        const auto difference = static_cast<double>(each.generated.age_sum) -
                                static_cast<double>(each.arrival.age_sum);
        behind = std::max(behind, difference / static_cast<double>(each.departures));
    }
    constexpr double too_old = 5e9; // no worker sends that late
    if (behind > too_old)
        return line("clocks", clocks_text(static_cast<std::int64_t>(behind)));
    if (2 * ahead <= departures)
        return "";
    return line("clocks", fmt::format("generated_ns is ahead of this host's clock in {} of {} departures: by a "
                                      "small skew, or {}",
                                      ahead, departures, tai_cause));
}

std::string age_lines(const olaf_config &config, const AomReading &aom) {
    if ((config.flags & OLAF_CONFIG_NO_METER) != 0 || aom.clusters.empty())
        return "";
    return minute_lines(aom) + settled_line(aom) + clocks_line(aom);
}

constexpr auto cluster_line =
    "{:>8} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10} {:>8} {:>8} {:>8}\n";

/// Messages by what became of them; Age-of-Model since the newest update was generated.
std::string cluster_table(const QueueReading &reading) {
    auto text = "\n" + fmt::format(cluster_line, "cluster", "passed", "appended", "aggregated",
                                   "replaced", "departed", "dropped", "AoM now", "average", "peak");
    auto aged = reading.aom.clusters.begin();
    const auto &clusters = reading.snapshot.clusters;
    for (std::size_t id = 0; id < clusters.size(); id++) {
        while (aged != reading.aom.clusters.end() && aged->cluster < id)
            ++aged;
        const auto &slots = clusters[id];
        const auto flow = flow_of(slots);
        if (flow.received == 0)
            continue;
        const bool known = aged != reading.aom.clusters.end() && aged->cluster == id;
        const auto age = [&](auto ns) {
            return known ? human_duration(static_cast<double>(ns)) : std::string("-");
        };
        const Age none, &age_of = known ? aged->generated : none;
        text += fmt::format(cluster_line, id, slots.passed_through, slots.appended,
                            slots.aggregated, slots.replaced, flow.departed, flow.dropped,
                            age(age_of.age_ns), age(age_of.average_ns()),
                            age(age_of.highest_peak_ns));
    }
    return text;
}

} // namespace

std::string verdict_text(const Attachment &attachment, const QueueVerdict &verdict) {
    auto text = fmt::format("{}: {}\n", attachment.device, verdict_line(verdict.first));
    if (!verdict.first.remedy.empty())
        text += line("", "-> " + verdict.first.remedy);
    for (const auto &finding : verdict.besides)
        text += finding_text(finding);
    return text;
}

std::string counted_text(olaf_group group, const Numbers &numbers, const olaf_config &config) {
    if (tells_reasons(group))
        return why_text(group, numbers, config);
    std::string head, rest;
    for (const auto *figure : whole_figures(group)) {
        const auto one = one_text(*figure, numbers, config);
        if (one.empty())
            continue;
        if (figure->label().empty())
            head = one + figure_parts(*figure, numbers, config);
        else
            rest += (rest.empty() ? "" : ", ") + one + figure_parts(*figure, numbers, config);
    }
    return head + (head.empty() || rest.empty() ? "" : ": ") + rest;
}

namespace {

/// Every counter that isn't 0, a line a group.
std::string counters_text(const Numbers &numbers, const olaf_config &config) {
    std::string text;
    for (std::size_t i = 0; i < counter_groups().size(); i++) {
        const auto group = static_cast<olaf_group>(i);
        const auto counted = counted_text(group, numbers, config);
        if (group != OLAF_GROUP_queue && (counter_groups()[i].at_zero || !counted.empty()))
            text += line(counter_groups()[i].title, counted.empty() ? "0" : counted);
    }
    return text;
}

} // namespace

std::string status_text(const Attachment &attachment, const QueueReading &reading,
                        const HostState &host, bool clusters) {
    const auto &config = attachment.record.config;
    const auto &snapshot = reading.snapshot;
    auto text = verdict_text(attachment, judge(attachment, reading, host)) +
                line("attached", attached_text(attachment)) +
                since_text(attachment.record, host, reading.aom.now_ns) +
                takes_text(config, host) + hardware_text(attachment, reading) +
                (reading.card ? "" : devices_text(attachment, host));
    if (reading.lost())
        return text; // nothing else is known
    text += line("queue", queue_text(config, snapshot, host));
    if (snapshot.window)
        text += line("window", window_text(config, *snapshot.window));
    text += counters_text(reading.numbers(), config) + age_lines(config, reading.aom);
    for (const auto &job : reading.jobs)
        text += job_lines(job);
    if (const auto note = netfilter_note(host.chains); !note.empty())
        text += line("also", note);
    if (attachment.alive && !reading.card)
        for (const auto &note : own_notes(host.own, attachment.device))
            text += line("addresses", note);
    return clusters ? text + cluster_table(reading) : text;
}

} // namespace olaf
