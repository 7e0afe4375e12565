// SPDX-License-Identifier: BSD-2-Clause
#include "rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>
#include <vector>

#include "loader/text/counters.hpp"
#include "status_text.hpp"

namespace olaf {
namespace {

/// By kind: what its detail says.
constexpr std::array<std::span<const Reason>, OLAF_EVENT_KINDS> details{
    joined_reasons, left_reasons, dropped_reasons, lost_reasons};

std::string_view pick(std::span<const Reason> reasons, std::size_t index) {
    return index < reasons.size() ? reasons[index].key : "unknown";
}

} // namespace

std::string_view kind_name(const olaf_event &event) {
    return pick(event_kinds, event.kind);
}

std::string_view action_name(const olaf_event &event) {
    return event.kind < details.size() ? pick(details[event.kind], event.detail) : "unknown";
}

std::string_view cause_name(const olaf_event &event) {
    if (event.kind == OLAF_EVENT_DROP && event.detail == OLAF_DROPPED_MALFORMED)
        return pick(malformed_reasons, event.cause);
    if (event.kind == OLAF_EVENT_DROP && event.detail == OLAF_DROPPED_NOT_ALLOWED)
        return pick(refused_reasons, event.cause);
    return "";
}

bool names_updates(std::string_view name) {
    return name != event_kinds[OLAF_EVENT_LOSS].key &&
           name != dropped_reasons[OLAF_DROPPED_MALFORMED].key &&
           std::ranges::find(lost_reasons, name, &Reason::key) == std::ranges::end(lost_reasons);
}

const std::vector<std::string> &event_names() {
    static const auto names = [] {
        std::vector<std::string> all;
        for (const auto &kind : event_kinds)
            all.emplace_back(kind.key);
        for (const auto &of_kind : details)
            for (const auto &detail : of_kind)
                all.emplace_back(detail.key);
        return all;
    }();
    return names;
}

namespace {

/// Whether it is counted in another reason of its group as well.
bool is_part(const Figure &figure) {
    return std::ranges::any_of(figures(), [&](const Figure &sum) {
        return sum.group == figure.group && sum.key == figure.sum && !sum.label().empty();
    });
}

/// " (3 contended)": those parts.
std::string parts_text(const Figure &sum, const Numbers &numbers, const olaf_config &config) {
    std::string text;
    for (const auto &figure : figures())
        if (figure.group == sum.group && figure.sum == sum.key)
            if (const auto number = figure.in(numbers).value_or(0); number != 0)
                text += fmt::format("{}{} {}", text.empty() ? " (" : ", ", number,
                                    words_of(figure, config));
    return text.empty() ? text : text + ")";
}

/// Those that a group's sum is made of.
std::vector<const Figure *> reasons_of(olaf_group group) {
    std::vector<const Figure *> found;
    for (const auto &figure : figures())
        if (figure.group == group && !figure.label().empty() && !is_part(figure))
            found.push_back(&figure);
    return found;
}

} // namespace

std::string words_of(const Figure &figure, const olaf_config &config) {
    if (figure.words.empty())
        return figure.label();
    return fmt::format(fmt::runtime(figure.words), fmt::arg("max_clusters", config.max_clusters),
                       fmt::arg("max_segments", config.max_segments),
                       fmt::arg("max_lanes", config.max_lanes));
}

std::string unit_text(std::uint64_t number, std::string_view unit) {
    std::string text(unit);
    if (number == 1 && text == "copies")
        return "copy";
    if (number == 1 && text.ends_with('s'))
        text.pop_back();
    return text;
}

std::string reasons_text(olaf_group group, const Numbers &numbers, const olaf_config &config) {
    std::vector<std::pair<std::uint64_t, std::string>> found;
    for (const auto *figure : reasons_of(group))
        if (const auto number = figure->in(numbers).value_or(0); number != 0)
            found.emplace_back(number,
                               words_of(*figure, config) + parts_text(*figure, numbers, config));
    if (found.size() == 1)
        return found[0].second;
    std::ranges::stable_sort(found, std::ranges::greater{}, &decltype(found)::value_type::first);
    std::string text;
    for (const auto &[number, words] : found)
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", number, words);
    return text;
}

std::string_view main_reason(olaf_group group, const Numbers &numbers) {
    std::string_view key;
    std::uint64_t most = 0;
    for (const auto *figure : reasons_of(group))
        if (const auto number = figure->in(numbers).value_or(0); number > most) {
            most = number;
            key = figure->key;
        }
    return key;
}

Flow flow_of(const olaf_slot_counters &slots) {
    const auto departed = slots.departed_riding + slots.departed_drain;
    Flow flow{.departed = departed,
              .messages_out = departed + slots.passed_through,
              .updates_out = slots.updates_departed + slots.updates_passed};
#define ADD(field, group, key, unit, identity, ...)                                                \
    flow.received += ((identity)&OLAF_RIGHT(ARRIVALS)) != 0 ? slots.field : 0;                     \
    flow.dropped += OLAF_GROUP_##group == OLAF_GROUP_dropped ? slots.field : 0;
    OLAF_SLOT_COUNTER_LIST(ADD)
#undef ADD
    return flow;
}

Flow flow_of(const QueueReading &reading) {
    auto flow = flow_of(reading.snapshot.slots);
    flow.received = identity_sides(OLAF_IDENTITY_ARRIVALS, reading.numbers()).second;
    flow.dropped = group_total(OLAF_GROUP_dropped, reading.numbers());
    flow.refused = group_total(OLAF_GROUP_malformed, reading.numbers()) +
                   group_total(OLAF_GROUP_not_allowed, reading.numbers());
    flow.updates_lost = group_total(OLAF_GROUP_lost_behind_updates, reading.numbers());
    return flow;
}

Flow difference(const Flow &later, const Flow &earlier) {
    return {.received = later.received - earlier.received,
            .departed = later.departed - earlier.departed,
            .messages_out = later.messages_out - earlier.messages_out,
            .updates_out = later.updates_out - earlier.updates_out,
            .dropped = later.dropped - earlier.dropped,
            .refused = later.refused - earlier.refused,
            .updates_lost = later.updates_lost - earlier.updates_lost};
}

const ClusterAom *aom_of(const AomReading &reading, std::uint32_t id) {
    const auto found = std::ranges::lower_bound(reading.clusters, id, {}, &ClusterAom::cluster);
    return found != reading.clusters.end() && found->cluster == id ? &*found : nullptr;
}

namespace {

olaf_slot_counters sums_of(const Snapshot &snapshot, std::uint32_t id) {
    return id < snapshot.clusters.size() ? snapshot.clusters[id] : olaf_slot_counters{};
}

RecentAge recent(const Age *earlier, const Age &later, std::uint64_t from_ns,
                 std::uint64_t now_ns) {
    static const Age nothing;
    const auto &before = earlier != nullptr ? *earlier : nothing;
    return {.twice_area = later.twice_area - before.twice_area,
            .time_ns = later.time_ns - before.time_ns,
            .highest_ns = later.highest_ns(from_ns, now_ns)};
}

void add_aom(ClusterRow &row, const ClusterAom *before, const ClusterAom &aom,
             std::uint64_t from_ns, std::uint64_t now_ns) {
    row.aom = aom;
    row.arrival =
        recent(before != nullptr ? &before->arrival : nullptr, aom.arrival, from_ns, now_ns);
    row.generated =
        recent(before != nullptr ? &before->generated : nullptr, aom.generated, from_ns, now_ns);
}

// What was counted since; all of it if the job was set anew meanwhile.
double per_second(std::uint64_t before, std::uint64_t now, double seconds) {
    const auto since = now >= before ? now - before : now;
    return seconds > 0 ? static_cast<double>(since) / seconds : 0;
}

std::vector<JobRow> job_rows(const Reading &earlier, const Reading &later, double seconds) {
    std::vector<JobRow> rows;
    for (const auto &job : later.jobs) {
        const auto found = std::ranges::find(earlier.jobs, job.id(), &JobReading::id);
        const auto before = found != earlier.jobs.end() ? found->counters : olaf_job_counters{};
        const auto heard = std::ranges::count_if(
            job.members, [](const KnownMember &known) { return known.member.last_seen_ns != 0; });
        rows.push_back(
            {.job = job.id(),
             .state = std::string(job_state(job)),
             .heard = static_cast<std::uint32_t>(heard),
             .children = job.job.setup.children,
             .contributions_per_s = per_second(before.added, job.counters.added, seconds),
             .chunks_per_s = per_second(before.completed, job.counters.completed, seconds),
             .open = job.open,
             .up = job.up,
             .late = job.counters.late,
             .stale = job.counters.stale,
             .group = job.job.setup.group_family != 0 ? group_text(job.job.setup) : ""});
    }
    return rows;
}

} // namespace

Rows rows_between(const Reading &first, const Reading &later) {
    // After `olaf reset` nothing was before.
    static const Reading nothing;
    const Reading &earlier = first.reset_ns == later.reset_ns ? first : nothing;
    const auto from_ns = std::max(first.aom.now_ns, later.reset_ns);
    Rows rows;
    rows.seconds = static_cast<double>(later.aom.now_ns - first.aom.now_ns) / 1e9;
    const auto per_second = [&](std::uint64_t count) {
        return rows.seconds > 0 ? static_cast<double>(count) / rows.seconds : 0;
    };
    rows.jobs = job_rows(first, later, rows.seconds); // `olaf reset` leaves them alone
    rows.total = flow_of(later);
    rows.recent = difference(rows.total, flow_of(earlier));
    for (std::uint32_t id = 0; id < later.snapshot.clusters.size(); id++) {
        ClusterRow row;
        row.cluster = id;
        row.total = flow_of(later.snapshot.clusters[id]);
        const auto *aom = aom_of(later.aom, id);
        if (row.total.received == 0 && aom == nullptr)
            continue;
        row.recent = difference(row.total, flow_of(sums_of(earlier.snapshot, id)));
        row.in_per_s = per_second(row.recent.received);
        row.out_per_s = per_second(row.recent.messages_out);
        if (aom != nullptr)
            add_aom(row, aom_of(earlier.aom, id), *aom, from_ns, later.aom.now_ns);
        row.idle =
            row.recent.received == 0 && row.recent.departed == 0 && later.snapshot.waiting[id] == 0;
        rows.clusters.push_back(std::move(row));
    }
    return rows;
}

} // namespace olaf
