// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "event.hpp"
#include "names.hpp"

namespace olaf {
namespace {

using Json = nlohmann::ordered_json;

std::string action_and_cause(const olaf_event &event) {
    const auto cause = cause_name(event);
    return cause.empty() ? std::string(action_name(event))
                         : fmt::format("{}:{}", action_name(event), cause);
}

template <class T> Json optional_json(const std::optional<T> &value) {
    return value ? Json(*value) : Json(nullptr);
}

} // namespace

std::string event_text(const Event &event) {
    const auto &record = event.record;
    auto text =
        fmt::format("{} {:<9} {:<10}", event.tai_ns(), kind_name(record), action_and_cause(record));
    if (record.kind == OLAF_EVENT_LOSS)
        return text + fmt::format(" frames {} updates {}", record.frames, record.count);
    if (event.has_update())
        text +=
            fmt::format(" cluster {} segment {} worker {} sequence {} count {} version {} age {}",
                        record.cluster, record.segment, record.worker, record.sequence,
                        record.count, record.model_version, *event.age_ns());
    if (const auto wait = event.wait_ns())
        text += fmt::format(" engine-age {} wait {}", *event.engine_age_ns(), *wait);
    return text + fmt::format(" queue {} bytes {}", record.queue_length, record.frame_bytes);
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
        text += fmt::format(", cluster {}, worker {}, count {}, age {} ns", record.cluster,
                            record.worker, record.count, *event.age_ns());
    if (const auto wait = event.wait_ns())
        text += fmt::format(", waited {} ns", *wait);
    return text + fmt::format(", queue {}", record.queue_length);
}

std::string missed_text(std::uint64_t events) {
    return fmt::format("missed {} events: more happened than could be read", events);
}

std::string missed_json(std::uint64_t events) {
    return Json{{"event", "missed"}, {"count", events}}.dump();
}

} // namespace olaf
