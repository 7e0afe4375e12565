// SPDX-License-Identifier: BSD-2-Clause
// One event as it is read from the ring buffer, what follows from it, and how it is shown.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "options.hpp"
#include "olaf/events.h"

namespace olaf {

struct Event {
    olaf_event record;
    std::span<const std::uint8_t> frame; ///< its first bytes; valid while the event is handled

    /// Whether it is about an update whose fields could be read.
    [[nodiscard]] bool has_update() const;
    /// When, CLOCK_TAI, ns: comparable with generated_ns.
    [[nodiscard]] std::int64_t tai_ns() const;
    /// Since the update was generated, ns; negative if the worker's clock is ahead.
    [[nodiscard]] std::optional<std::int64_t> age_ns() const;
    /// Of a departure: since the newest folded update arrived at the engine, ns.
    [[nodiscard]] std::optional<std::uint64_t> engine_age_ns() const;
    /// Of a departure: since the first folded update took its place, ns.
    [[nodiscard]] std::optional<std::uint64_t> wait_ns() const;
};

/// A record of the ring buffer; nothing if it is cut short.
std::optional<Event> read_event(const void *data, std::size_t bytes);

bool passes(const EventFilter &filter, const Event &event);

/// Why a filter lets nothing or next to nothing through, of a queue for so many clusters: a line
/// each.
std::vector<std::string> doubts(const EventFilter &filter, std::uint32_t max_clusters);

std::string event_text(const Event &event); ///< one line, without its end
std::string event_json(const Event &event); ///< the same; docs/schema/trace.json
/// What happened in a few words, for a packet's comment.
std::string event_comment(const Event &event);

/// Events that the reader was too slow for.
std::string missed_text(std::uint64_t events);
std::string missed_json(std::uint64_t events);

} // namespace olaf
