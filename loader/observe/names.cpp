// SPDX-License-Identifier: BSD-2-Clause
#include "names.hpp"

#include <array>
#include <span>

#include "loader/text/names.hpp"

namespace olaf {
namespace {

constexpr std::array<std::string_view, OLAF_EVENT_KINDS> kinds{"arrival", "departure", "drop",
                                                               "loss"};
constexpr std::array<std::string_view, OLAF_JOINED_ACTIONS> joined{"appended", "aggregated",
                                                                   "replaced"};
constexpr std::array<std::string_view, OLAF_LEFT_WAYS> left{"riding", "drain", "passed"};
constexpr std::array<std::string_view, OLAF_DROPPED_REASONS> dropped{
    "full", "reward", "sealed", "contended", "unfit", "malformed", "refused", "misfit"};
constexpr std::array<std::string_view, OLAF_LOST_PLACES> lost{
    "redirect", "xmit", "tx", "lane", "socket", "stack", "device"};
constexpr std::array<std::span<const std::string_view>, OLAF_EVENT_KINDS> actions{joined, left,
                                                                                  dropped, lost};

std::string_view pick(std::span<const std::string_view> names, std::size_t index) {
    return index < names.size() ? names[index] : "unknown";
}

} // namespace

std::string_view kind_name(const olaf_event &event) {
    return pick(kinds, event.kind);
}

std::string_view action_name(const olaf_event &event) {
    return event.kind < actions.size() ? pick(actions[event.kind], event.detail) : "unknown";
}

std::string_view cause_name(const olaf_event &event) {
    if (event.kind == OLAF_EVENT_DROP && event.detail == OLAF_DROPPED_MALFORMED)
        return pick(malformed_names, event.cause);
    if (event.kind == OLAF_EVENT_DROP && event.detail == OLAF_DROPPED_REFUSED)
        return pick(refused_names, event.cause);
    return "";
}

const std::vector<std::string> &event_names() {
    static const auto names = [] {
        std::vector<std::string> all(kinds.begin(), kinds.end());
        for (const auto &of_kind : actions)
            all.insert(all.end(), of_kind.begin(), of_kind.end());
        return all;
    }();
    return names;
}

} // namespace olaf
