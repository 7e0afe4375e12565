// SPDX-License-Identifier: BSD-2-Clause
// The commands that show a queue at work, each with its options as plain data. They only read:
// killing one at any moment leaves the queue as it was.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "loader/commands/commands.hpp"
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
Result<void> trace(const TraceOptions &options, const GlobalOptions &global);

struct TopOptions {
    std::string device;
    std::uint64_t interval_ns = 1'000'000'000;
    std::string sort = "aom";
};
Result<void> top(const TopOptions &options, const GlobalOptions &global);

struct ReportOptions {
    std::string device;
    std::uint64_t for_ns = 30'000'000'000;
    std::string directory;
    std::string clock = "generated"; ///< or "arrival"
};
Result<void> report(const ReportOptions &options, const GlobalOptions &global);

struct ServeOptions {
    std::vector<std::string> devices; ///< none: every queue of the namespace, as they come and go
    std::string bind = "127.0.0.1";   ///< numeric address; elsewhere than loopback only if asked
    std::uint16_t port = 9435;        ///< 0: one that is free, which is then printed
};
Result<void> serve(const ServeOptions &options, const GlobalOptions &global);

} // namespace olaf
