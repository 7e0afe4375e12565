// SPDX-License-Identifier: BSD-2-Clause
// The list of counters for people and for programs: docs/counters.md, docs/schema/counters.json,
// and a section of the manual.
#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "description.hpp"
#include "loader/text/counters.hpp"
#include "loader/text/job_counters.hpp"

namespace olaf {
namespace {

using Json = nlohmann::ordered_json;

/// Reasons that are told by events alone, with what they are reasons of.
struct EventReasons {
    std::string_view kind;
    std::span<const Reason> reasons;
};
constexpr EventReasons event_reasons[] = {{"arrival", joined_reasons},
                                          {"departure", left_reasons},
                                          {"drop", dropped_reasons},
                                          {"loss", lost_reasons}};

std::vector<const Figure *> figures_of(std::size_t group) {
    std::vector<const Figure *> found;
    for (const auto &figure : figures())
        if (figure.group == group)
            found.push_back(&figure);
    return found;
}

/// Its series, each once: counters that are parts of it and nothing else bring theirs.
std::vector<std::string> metrics_of(const Figure &figure) {
    std::vector<std::string> found;
    for (const auto index : figure.counters)
        for (const auto &metric : counters()[index].metrics) {
            const bool sum = std::ranges::any_of(figures(), [&](const Figure &part) {
                return part.sum == figure.key && part.group == figure.group &&
                       std::ranges::find(part.counters, index) != part.counters.end();
            });
            if (!sum && std::ranges::find(found, metric) == found.end())
                found.push_back(metric);
        }
    return found;
}

/// "`name{label="value"}`".
std::string metric_text(std::string metric) {
    if (const auto equals = metric.find('='); equals != metric.npos) {
        metric.insert(equals + 1, "\"");
        metric.insert(metric.size() - 1, "\"");
    }
    return "`" + metric + "`";
}

std::string metrics_text(const Figure &figure) {
    std::string text;
    for (const auto &metric : metrics_of(figure))
        text += (text.empty() ? "" : ", ") + metric_text(metric);
    return text;
}

std::string meaning_of(const Figure &figure) {
    return std::string(figure.meaning) +
           (figure.sum.empty() ? "" : "; part of `" + std::string(figure.sum) + "`");
}

/// Whether the figure is counted only while the loss programs watch.
bool needs_watch(const Figure &figure) {
    return std::ranges::all_of(figure.counters, [](std::size_t index) {
        return counters()[index].source == Source::losses;
    });
}

Json integer(const Figure &figure) {
    // Null: not watched, or in a card that doesn't count it or is lost.
    return {{"type", Json{"integer", "null"}},
            {"minimum", 0},
            {"description", std::string(figure.unit) + ": " + std::string(figure.meaning)}};
}

/// An object with just these keys required; others may be there.
Json object_of(const std::vector<std::pair<std::string, Json>> &keys) {
    Json required = Json::array(), properties = Json::object();
    for (const auto &[key, value] : keys) {
        required.push_back(key);
        properties[key] = value;
    }
    return {{"required", required}, {"properties", properties}};
}

/// Counters of a job: its own, and those in its objects.
Json job_schema() {
    std::vector<std::pair<std::string, Json>> own;
    std::vector<std::pair<std::string_view, std::vector<std::pair<std::string, Json>>>> objects;
    for (const auto &counter : job_counters()) {
        const std::pair<std::string, Json> one{
            std::string(counter.key),
            {{"type", "integer"},
             {"minimum", 0},
             {"description", std::string(counter.unit) + ": " + std::string(counter.meaning)}}};
        if (counter.object.empty())
            own.push_back(one);
        else if (objects.empty() || objects.back().first != counter.object)
            objects.push_back({counter.object, {one}});
        else
            objects.back().second.push_back(one);
    }
    for (const auto &[name, keys] : objects) {
        auto object = object_of(keys);
        object["type"] = "object";
        own.emplace_back(name, std::move(object));
    }
    return object_of(own);
}

std::string jobs_section() {
    std::string text = "\n## Jobs\n\n"
                       "In each object of `jobs`, since the job was set. A result that its "
                       "member may still get is told as undelivered too.\n\n";
    for (const auto &[equation, when] : job_identities())
        text += "- `" + equation + "`: " + when + "\n";
    text += "\n| key | counts | meaning | metric |\n|---|---|---|---|\n";
    for (const auto &counter : job_counters())
        text += "| `" + counter.path() + "` | " + std::string(counter.unit) + " | " +
                std::string(counter.meaning) + " | " + metric_text(std::string(counter.metric)) +
                " |\n";
    return text;
}

Json losses_schema() {
    Json required = Json::array(), properties = Json::object();
    for (const auto &figure : figures()) {
        if (!counter_groups()[figure.group].loses || !figure.sum.empty())
            continue;
        const auto schema = integer(figure);
        if (!needs_watch(figure))
            required.push_back(figure.path());
        properties[figure.path()] = {
            {"type", "integer"}, {"minimum", 0}, {"description", schema["description"]}};
    }
    return {{"type", "object"},
            {"required", required},
            {"properties", properties},
            {"additionalProperties", false}};
}

Json names_of(std::initializer_list<std::span<const Reason>> lists) {
    Json names = Json::array();
    for (const auto &list : lists)
        for (const auto &reason : list)
            if (std::ranges::find(names, Json(reason.key)) == names.end())
                names.push_back(reason.key);
    return {{"enum", names}};
}

} // namespace

std::string counters_page() {
    std::string text =
        "<!-- Generated from include/olaf/counters.h: ninja olaf_counters_docs -->\n"
        "# Counters\n\n"
        "Every number that the queue counts: its key in `olaf status --json`, what it counts, and "
        "its metric of `olaf serve`.\n"
        "A message is one UPDATE on the wire. It may hold many updates: its `count` says how many."
        "\n\n## Identities\n\n";
    for (std::size_t i = 0; i < identities().size(); i++)
        text += "- `" + identity_text(i) + "`: " + std::string(identities()[i].when) + "\n";
    for (std::size_t group = 0; group < counter_groups().size(); group++) {
        const auto &[name, title, object, loses, at_zero, meaning] = counter_groups()[group];
        text += "\n## " + std::string(name) + "\n\n" + std::string(meaning) +
                "\n\n| key | counts | meaning | metric |\n|---|---|---|---|\n";
        for (const auto *figure : figures_of(group))
            text += "| `" + figure->path() + "` | " + std::string(figure->unit) + " | " +
                    meaning_of(*figure) + " | " + metrics_text(*figure) + " |\n";
    }
    text += jobs_section() +
            "\n## Events\n\nWhat `olaf trace` tells. `--action` takes any of these words.\n\n"
            "| event | action | meaning |\n|---|---|---|\n";
    for (const auto &[kind, reasons] : event_reasons)
        for (const auto &reason : reasons)
            text += "| `" + std::string(kind) + "` | `" + std::string(reason.key) + "` | " +
                    std::string(reason.meaning) + " |\n";
    return text;
}

std::string counters_schema() {
    Json defs = Json::object();
    std::vector<std::pair<std::string, Json>> cluster;
    for (const auto &group : counter_groups()) {
        const auto name = std::string(group.object.empty() ? group.name : group.object);
        std::vector<std::pair<std::string, Json>> keys;
        for (const auto &figure : figures())
            if (figure.object == group.object)
                keys.emplace_back(figure.key, integer(figure));
        defs[name] = object_of(keys);
    }
    for (const auto &figure : figures())
        if (std::ranges::any_of(figure.counters, [](std::size_t index) {
                return counters()[index].source == Source::slots;
            }))
            cluster.emplace_back(figure.key, integer(figure));
    defs["cluster"] = object_of(cluster);
    defs["job"] = job_schema();
    defs["losses"] = losses_schema();
    defs["event"] = names_of({event_kinds});
    defs["action"] = names_of({joined_reasons, left_reasons, dropped_reasons, lost_reasons});
    defs["cause"] = names_of({malformed_reasons, refused_reasons});
    return Json{{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                {"$id", "olaf:counters"},
                {"title", "Counters and reasons: generated from include/olaf/counters.h"},
                {"$defs", defs}}
               .dump(2) +
           "\n";
}

std::vector<DescribedGroup> described_counters() {
    std::vector<DescribedGroup> all;
    for (std::size_t group = 0; group < counter_groups().size(); group++) {
        DescribedGroup described{std::string(counter_groups()[group].name),
                                 std::string(counter_groups()[group].meaning),
                                 {}};
        for (const auto *figure : figures_of(group))
            described.counters.push_back(
                {figure->path(), std::string(figure->unit), meaning_of(*figure)});
        all.push_back(std::move(described));
    }
    DescribedGroup jobs{"jobs", "What became of contributions, by job (olaf job).", {}};
    for (const auto &counter : job_counters())
        jobs.counters.push_back(
            {counter.path(), std::string(counter.unit), std::string(counter.meaning)});
    all.push_back(std::move(jobs));
    return all;
}

std::vector<std::string> described_identities() {
    std::vector<std::string> all;
    for (std::size_t i = 0; i < identities().size(); i++)
        all.push_back(identity_text(i) + "; " + std::string(identities()[i].when));
    for (const auto &[equation, when] : job_identities())
        all.push_back("Of a job: " + equation + "; " + when);
    return all;
}

std::vector<DescribedEvent> described_events() {
    std::vector<DescribedEvent> all;
    for (const auto &[kind, reasons] : event_reasons) {
        const auto *meant = std::ranges::find(event_kinds, kind, &Reason::key);
        DescribedEvent event{std::string(kind), std::string(meant->meaning), {}};
        for (const auto &reason : reasons)
            event.actions.emplace_back(reason.key, reason.meaning);
        all.push_back(std::move(event));
    }
    return all;
}

} // namespace olaf
