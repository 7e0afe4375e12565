// SPDX-License-Identifier: BSD-2-Clause
#include "event.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "names.hpp"

namespace olaf {

bool Event::has_update() const {
    return record.kind != OLAF_EVENT_LOSS &&
           !(record.kind == OLAF_EVENT_DROP && record.detail == OLAF_DROPPED_MALFORMED);
}

std::int64_t Event::tai_ns() const {
    return static_cast<std::int64_t>(record.time_ns) + record.tai_offset_ns;
}

std::optional<std::int64_t> Event::age_ns() const {
    if (!has_update())
        return {};
    // Any 64 bits may stand in a message: the difference wraps, it doesn't overflow.
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(tai_ns()) - record.generated_ns);
}

std::optional<std::uint64_t> Event::engine_age_ns() const {
    if (record.kind != OLAF_EVENT_DEPARTURE)
        return {};
    return record.time_ns - std::min(record.arrived_ns, record.time_ns);
}

std::optional<std::uint64_t> Event::wait_ns() const {
    if (record.kind != OLAF_EVENT_DEPARTURE)
        return {};
    return record.time_ns - std::min(record.first_arrived_ns, record.time_ns);
}

std::optional<Event> read_event(const void *data, std::size_t bytes) {
    Event event{};
    if (bytes < sizeof event.record)
        return {};
    std::memcpy(&event.record, data, sizeof event.record);
    const auto captured =
        std::min<std::size_t>(event.record.captured_bytes, bytes - sizeof event.record);
    event.frame = {static_cast<const std::uint8_t *>(data) + sizeof event.record, captured};
    return event;
}

bool passes(const EventFilter &filter, const Event &event) {
    const auto &record = event.record;
    const bool about_update = event.has_update();
    if (!filter.clusters.empty() &&
        !(about_update && std::ranges::any_of(filter.clusters, [&](const Range &range) {
              return record.cluster >= range.first && record.cluster <= range.last;
          })))
        return false;
    if (!filter.workers.empty() &&
        !(about_update && std::ranges::find(filter.workers, record.worker) != filter.workers.end()))
        return false;
    if (!filter.actions.empty() && std::ranges::none_of(filter.actions, [&](const auto &name) {
            return name == kind_name(record) || name == action_name(record);
        }))
        return false;
    if (filter.min_age_ns) {
        const auto age = event.age_ns();
        return age && *age >= static_cast<std::int64_t>(*filter.min_age_ns);
    }
    return true;
}

std::vector<std::string> doubts(const EventFilter &filter, std::uint32_t max_clusters) {
    std::vector<std::string> found;
    for (const auto &range : filter.clusters)
        if (range.first >= max_clusters)
            found.push_back(fmt::format(
                "cluster {} is beyond the queue's limit, 0 ... {}: all that can be told of it is "
                "drop not_allowed:cluster",
                range.first == range.last ? std::to_string(range.first)
                                          : fmt::format("{}-{}", range.first, range.last),
                max_clusters - 1));
    const bool of_updates =
        !filter.clusters.empty() || !filter.workers.empty() || filter.min_age_ns.has_value();
    if (of_updates && !filter.actions.empty() &&
        std::ranges::none_of(filter.actions, names_updates))
        found.emplace_back("no event can match: losses and malformed messages have no cluster, "
                           "worker or age to filter by");
    return found;
}

} // namespace olaf
