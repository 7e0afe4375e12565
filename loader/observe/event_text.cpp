// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "event.hpp"
#include "loader/text/human.hpp"
#include "names.hpp"

namespace olaf {
namespace {

using Json = nlohmann::ordered_json;

std::string action_and_cause(const olaf_event &event) {
    const auto cause = cause_name(event);
    return cause.empty() ? std::string(action_name(event))
                         : fmt::format("{}:{}", action_name(event), cause);
}

/// Seconds of CLOCK_TAI, to the nanosecond.
std::string moment(std::int64_t tai_ns) {
    constexpr std::int64_t second = 1'000'000'000;
    return fmt::format("{}.{:09}s", tai_ns / second, tai_ns % second);
}

/// Of an age that is negative where the worker's clock is ahead.
std::string signed_duration(std::int64_t ns) {
    return (ns < 0 ? "-" : "") + human_duration(std::abs(static_cast<double>(ns)));
}

template <class T> Json optional_json(const std::optional<T> &value) {
    return value ? Json(*value) : Json(nullptr);
}

} // namespace

std::string event_text(const Event &event) {
    const auto &record = event.record;
    auto text = fmt::format("{} {:<9} {:<10}", moment(event.tai_ns()), kind_name(record),
                            action_and_cause(record));
    if (record.kind == OLAF_EVENT_LOSS)
        return text + fmt::format(" frames {} updates {}", record.frames, record.count);
    if (event.has_update())
        text += fmt::format(" cluster {} segment {} worker {} sequence {} updates {} version {} "
                            "age by generation {}",
                            record.cluster, record.segment, record.worker, record.sequence,
                            record.count, record.model_version, signed_duration(*event.age_ns()));
    if (const auto wait = event.wait_ns())
        text += fmt::format(" by arrival {} waited {}",
                            human_duration(static_cast<double>(*event.engine_age_ns())),
                            human_duration(static_cast<double>(*wait)));
    return text + fmt::format(" queue {} frame {}B", record.queue_length, record.frame_bytes);
}

std::string event_json(const Event &event) {
    const auto &record = event.record;
    const bool update = event.has_update();
    const auto field = [&](auto value) { return update ? Json(value) : Json(nullptr); };
    const auto cause = cause_name(record);
    const bool loss = record.kind == OLAF_EVENT_LOSS;
    const bool departure = record.kind == OLAF_EVENT_DEPARTURE;
    return Json{{"event", kind_name(record)},
                {"action", action_name(record)},
                {"cause", cause.empty() ? Json(nullptr) : Json(cause)},
                {"time_ns", record.time_ns},
                {"tai_ns", event.tai_ns()},
                {"cluster", field(record.cluster)},
                {"segment", field(record.segment)},
                {"worker", field(record.worker)},
                {"sequence", field(record.sequence)},
                {"count", record.count},
                {"frames", loss ? Json(record.frames) : Json(nullptr)},
                {"model_version", field(record.model_version)},
                {"generated_ns", field(record.generated_ns)},
                {"age_ns", optional_json(event.age_ns())},
                {"first_arrived_ns", departure ? Json(record.first_arrived_ns) : Json(nullptr)},
                {"arrived_ns", departure ? Json(record.arrived_ns) : Json(nullptr)},
                {"engine_age_ns", optional_json(event.engine_age_ns())},
                {"wait_ns", optional_json(event.wait_ns())},
                {"queue_length", record.queue_length},
                {"frame_bytes", record.frame_bytes},
                {"cpu", record.cpu},
                {"sampled", record.sampled}}
        .dump();
}

std::string event_comment(const Event &event) {
    const auto &record = event.record;
    auto text = fmt::format("olaf {}: {}", kind_name(record), action_and_cause(record));
    if (event.has_update())
        text +=
            fmt::format(", cluster {}, worker {}, updates {}, age by generation {}", record.cluster,
                        record.worker, record.count, signed_duration(*event.age_ns()));
    if (const auto wait = event.wait_ns())
        text += fmt::format(", waited {}", human_duration(static_cast<double>(*wait)));
    return text + fmt::format(", queue {}", record.queue_length);
}

std::string missed_text(std::uint64_t events) {
    return fmt::format("missed {} events: more happened than could be read", events);
}

std::string missed_json(std::uint64_t events) {
    return Json{{"event", "missed"}, {"count", events}}.dump();
}

} // namespace olaf
