// SPDX-License-Identifier: BSD-2-Clause
// What the commands that show a queue at work are asked for, as plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "loader/text/units.hpp"

namespace olaf {

/// Which events a person wants to see: those that pass every filter given.
struct EventFilter {
    std::vector<Range> clusters = {};             ///< any of these; none: every one
    std::vector<std::uint32_t> workers = {};      ///< any of these; none: every one
    std::vector<std::string> actions = {};        ///< any of these names; none: every one
    std::optional<std::uint64_t> min_age_ns = {}; ///< as old as this at the event
};

struct TraceOptions {
    std::string device;
    EventFilter filter;
    std::uint32_t sample = 1;            ///< one event of so many
    std::string pcap;                    ///< file to write packets to; "": print lines
    std::optional<std::uint64_t> for_ns; ///< end after this long; nothing: when interrupted
};

struct TopOptions {
    std::string device;
    std::uint64_t interval_ns = 1'000'000'000;
    std::string sort = "aom";
    std::uint64_t first_ns = 200'000'000; ///< until the first look that has rates
};

/// By which clock ages are told: the newest update's generated_ns, or its arrival here.
enum class AgeClock { generated, arrival };

struct ReportOptions {
    std::string device;
    std::uint64_t for_ns = 30'000'000'000;
    std::string directory;
    AgeClock clock = AgeClock::generated;
    bool verbose = false; ///< note when it begins to record
};

struct ServeOptions {
    std::vector<std::string> devices; ///< none: every queue of the namespace, as they come and go
    std::string bind = "127.0.0.1";   ///< numeric address; elsewhere than loopback only if asked
    std::uint16_t port = 9435;        ///< 0: one that is free, which is then printed
    bool wait = false;                ///< for queues that aren't there yet; else that is a failure
    /// Series for at most so many clusters of a queue; nothing: for each.
    std::optional<std::uint32_t> top_clusters = {};
};

} // namespace olaf
