// SPDX-License-Identifier: BSD-2-Clause
// The list of counters (olaf/counters.h) as tables: what each number is called, what it counts,
// where it is read. Text, JSON, schemas, metrics, page and manual are made from these.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "olaf/acks.h"
#include "olaf/counters.h"
#include "olaf/events.h"
#include "olaf/queue.h"
#include "olaf/window.h"

namespace olaf {

/// A reason by its number in the kernel's enum.
struct Reason {
    std::string_view key, meaning, words = {};
};

inline constexpr Reason malformed_reasons[] = {
#define OLAF_REASON(constant, key, meaning, ...) {#key, meaning __VA_OPT__(, ) __VA_ARGS__},
    OLAF_MALFORMED_LIST(OLAF_REASON)};
inline constexpr Reason refused_reasons[] = {OLAF_NOT_ALLOWED_LIST(OLAF_REASON)};
inline constexpr Reason bypass_reasons[] = {OLAF_BYPASS_LIST(OLAF_REASON)};
inline constexpr Reason lost_reasons[] = {OLAF_LOST_LIST(OLAF_REASON)};
inline constexpr Reason event_kinds[] = {OLAF_EVENT_KIND_LIST(OLAF_REASON)};
inline constexpr Reason joined_reasons[] = {OLAF_JOINED_LIST(OLAF_REASON)};
inline constexpr Reason left_reasons[] = {OLAF_LEFT_LIST(OLAF_REASON)};
inline constexpr Reason dropped_reasons[] = {OLAF_DROPPED_LIST(OLAF_REASON)};

/// What is there now, worked out from the maps: not counters, but identities need them.
struct Levels {
#define OLAF_LEVEL_FIELD(field, ...) std::uint64_t field = 0;
    OLAF_LEVEL_LIST(OLAF_LEVEL_FIELD)
#undef OLAF_LEVEL_FIELD
};

/// The structs that numbers are read from; null: not known.
struct Numbers {
    const olaf_slot_counters *slots = nullptr;
    const olaf_counters *cpus = nullptr;
    const olaf_ack_counters *acks = nullptr;
    const olaf_window *window = nullptr;
    const olaf_losses *losses = nullptr;
    const Levels *levels = nullptr;
    bool of_card = false; ///< only what a card counts too is known
};

enum class Source { slots, cpus, acks, window, losses, levels };

/// One number in one of those structs.
struct Counter {
    Source source;
    std::size_t offset;
    std::string field;                ///< "malformed.version"
    std::vector<std::string> metrics; ///< "name" or "name{label=value}"
    std::string_view meaning;
    bool on_card = false; ///< a card counts it too (olaf/registers.h)

    [[nodiscard]] std::optional<std::uint64_t> in(const Numbers &numbers) const;
};

/// A line of status text, and the JSON object behind it.
struct CounterGroup {
    std::string_view name, title, object;
    bool loses, at_zero;
    std::string_view meaning;
};

/// A number as it is shown: a key of `olaf status --json`, the sum of some counters.
struct Figure {
    olaf_group group;
    std::string_view object, key, unit, meaning;
    std::uint32_t identity;            ///< OLAF_LEFT and OLAF_RIGHT of identities
    std::string_view sum;              ///< the figure of the object "counters" that it is part of
    std::vector<std::size_t> counters; ///< in counters()
    std::string_view words = {};       ///< of a reason, as people are told of it; "" else

    /// Nothing where none of its counters is known.
    [[nodiscard]] std::optional<std::uint64_t> in(const Numbers &numbers) const;
    /// "dropped_full", "acks.copied".
    [[nodiscard]] std::string path() const;
    /// As text names it on the line of its group: "full", "copies refused"; "" for the group
    /// itself.
    [[nodiscard]] std::string label() const;
};

const std::vector<Counter> &counters();
/// In the order of groups; in a group sums first.
const std::vector<Figure> &figures();
std::span<const CounterGroup> counter_groups();
/// Those of a group that are no part of another figure of it.
std::vector<const Figure *> whole_figures(olaf_group group);
/// The sum of those, as far as they are known.
std::uint64_t group_total(olaf_group group, const Numbers &numbers);

/// What a labelled metric counts; "" for one without labels.
std::string_view metric_help(std::string_view name);

struct Identity {
    std::string_view name, outside, when;
};
std::span<const Identity> identities();
/// "received = passed_through + appended + …".
std::string identity_text(std::size_t identity);
/// Its left and right side, as far as they are known; what is outside is missing.
std::pair<std::uint64_t, std::uint64_t> identity_sides(std::size_t identity,
                                                       const Numbers &numbers);

} // namespace olaf
