// SPDX-License-Identifier: BSD-2-Clause
#include "top_columns.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "loader/text/human.hpp"

namespace olaf {
namespace {

const Age &age_of(const ClusterRow &row, AgeClock clock) {
    return clock == AgeClock::arrival ? row.aom.arrival : row.aom.generated;
}

const RecentAge &recent_of(const ClusterRow &row, AgeClock clock) {
    return clock == AgeClock::arrival ? row.arrival : row.generated;
}

/// A duration of the meter, or nothing where that has seen no departure.
std::string age_text(const ClusterRow &row, double ns) {
    return row.aom.segments == 0 ? "-" : human_duration(ns);
}

/// The same of the last interval, in which an idle cluster has no age that means anything.
std::string recent_text(const ClusterRow &row, double ns) {
    return row.idle && row.aom.segments != 0 ? "idle" : age_text(row, ns);
}

double now_ns(const ClusterRow &row, AgeClock clock) {
    return static_cast<double>(age_of(row, clock).age_ns);
}
double average_ns(const ClusterRow &row, AgeClock clock) {
    return row.idle ? 0 : recent_of(row, clock).average_ns();
}
double peak_ns(const ClusterRow &row, AgeClock clock) {
    return row.idle ? 0 : static_cast<double>(recent_of(row, clock).highest_ns);
}
double fold(const ClusterRow &row, AgeClock) {
    return row.recent.fold_factor();
}
double dropped(const ClusterRow &row, AgeClock) {
    return static_cast<double>(row.total.dropped);
}

} // namespace

const std::vector<Column> &top_columns() {
    using Row = const ClusterRow &;
    static const std::vector<Column> columns{
        {"cluster", "CLUSTER", 7, [](Row row, AgeClock) { return double(row.cluster); },
         [](Row row, AgeClock) { return fmt::format("{}", row.cluster); }, false},
        {"aom", "AoM", 7, now_ns,
         [](Row row, AgeClock clock) { return age_text(row, now_ns(row, clock)); }, true},
        {"average", "AVERAGE", 7, average_ns,
         [](Row row, AgeClock clock) { return recent_text(row, average_ns(row, clock)); }, true},
        {"peak", "PEAK", 7, peak_ns,
         [](Row row, AgeClock clock) { return recent_text(row, peak_ns(row, clock)); }, true},
        {"in", "IN/s", 6, [](Row row, AgeClock) { return row.in_per_s; },
         [](Row row, AgeClock) { return human_count(row.in_per_s); }, true},
        {"out", "OUT/s", 6, [](Row row, AgeClock) { return row.out_per_s; },
         [](Row row, AgeClock) { return human_count(row.out_per_s); }, true},
        {"fold", "FOLD", 6, fold,
         [](Row row, AgeClock clock) {
             return row.recent.messages_out == 0 ? "-" : fmt::format("{:.2f}", fold(row, clock));
         },
         true},
        {"drops", "DROPS", 6, dropped,
         [](Row row, AgeClock clock) { return human_count(dropped(row, clock)); }, true}};
    return columns;
}

std::vector<std::string> column_keys() {
    std::vector<std::string> keys;
    for (const auto &column : top_columns())
        keys.emplace_back(column.key);
    return keys;
}

std::size_t column_by_key(const std::string &key) {
    const auto &columns = top_columns();
    const auto found = std::ranges::find_if(columns, [&](auto &c) { return key == c.key; });
    return found == columns.end() ? 0 : static_cast<std::size_t>(found - columns.begin());
}

void sort_rows(std::vector<ClusterRow> &rows, std::size_t column, bool reversed, AgeClock clock) {
    const auto &by = top_columns()[column];
    const bool descending = by.descends != reversed;
    std::ranges::sort(rows, [&](const ClusterRow &a, const ClusterRow &b) {
        const double x = by.value(a, clock), y = by.value(b, clock);
        if (x != y)
            return descending ? x > y : x < y;
        return a.cluster < b.cluster;
    });
}

} // namespace olaf
