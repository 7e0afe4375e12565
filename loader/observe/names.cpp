// SPDX-License-Identifier: BSD-2-Clause
#include "names.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "loader/text/counters.hpp"

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

} // namespace olaf
