// SPDX-License-Identifier: BSD-2-Clause
#include "human.hpp"

#include <fmt/format.h>

#include <cmath>
#include <ctime>
#include <span>

namespace olaf {
namespace {

struct Scale {
    double size;
    const char *name;
};

/// Three digits of the value in the largest unit that it fills, after rounding.
std::string scaled(double value, std::span<const Scale> units) {
    const Scale *unit = &units[0];
    for (const auto &candidate : units)
        if (value >= candidate.size * (1 - 0.0005))
            unit = &candidate;
    const double in_unit = value / unit->size;
    const int decimals = in_unit >= 99.95 ? 0 : in_unit >= 9.995 ? 1 : 2;
    return fmt::format("{:.{}f}{}", in_unit, decimals, unit->name);
}

} // namespace

std::string human_duration(double ns) {
    static constexpr Scale units[] = {{1, "ns"},  {1e3, "us"},   {1e6, "ms"},
                                     {1e9, "s"}, {3600e9, "h"}, {86400e9, "d"}};
    if (!(ns >= 1))
        return "0";
    return ns < 999.5 ? fmt::format("{:.0f}ns", ns) : scaled(ns, units);
}

std::string utc_text(std::uint64_t realtime_ns) {
    const auto seconds = static_cast<std::time_t>(realtime_ns / 1'000'000'000);
    std::tm date{};
    char text[32] = {};
    std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", ::gmtime_r(&seconds, &date));
    return text;
}

std::string human_count(double value) {
    static constexpr Scale units[] = {{1, ""}, {1e3, "k"}, {1e6, "M"}, {1e9, "G"}, {1e12, "T"}};
    if (!(value > 0))
        return "0";
    if (value < 999.5 && value == std::floor(value))
        return fmt::format("{:.0f}", value);
    return scaled(value, units);
}

std::string clocks_text(std::int64_t behind_ns) {
    constexpr double tai_least = 36, tai_most = 39; // CLOCK_TAI is 37 s ahead of UTC, and networks take time
    const auto seconds = std::abs(static_cast<double>(behind_ns)) / 1e9;
    const bool is_tai = seconds >= tai_least && seconds < tai_most;
    const auto amount = is_tai ? fmt::format("{:.0f} s", seconds) : human_duration(seconds * 1e9);
    return fmt::format("generated_ns is {} {} this host's clock: {}", amount,
                       behind_ns < 0 ? "ahead of" : "behind",
                       is_tai ? tai_cause : "set both hosts' by NTP or PTP, TAI offset and all");
}

} // namespace olaf
