// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <numeric>

#include "loader/observe/aom_json.hpp"
#include "loader/text/human.hpp"
#include "print.hpp"

namespace olaf {
namespace {

using Json = nlohmann::ordered_json;

template <std::size_t N> std::uint64_t total(const __u64 (&counts)[N]) {
    return std::accumulate(std::begin(counts), std::end(counts), std::uint64_t{0});
}

Json meter_json(const MeterOptions &options, const Meter::Reading &reading,
                std::uint64_t started_ns) {
    Json clusters = Json::array();
    for (const auto &cluster : reading.aom.clusters)
        clusters.push_back(
            {{"cluster", cluster.cluster}, {"aom", cluster_aom_json(cluster, reading.aom.now_ns)}});
    return {{"device", options.device},
            {"direction", options.sent ? "sent" : "received"},
            {"port", options.port},
            {"measured_ns", reading.aom.now_ns - started_ns},
            {"messages", reading.counters.received},
            {"updates", reading.counters.updates_in},
            {"malformed", total(reading.counters.malformed)},
            {"out_of_range", total(reading.counters.not_allowed)},
            {"unread", reading.unread},
            {"unmetered", reading.counters.passages_unmetered},
            {"aom", aom_summary_json(reading.aom)},
            {"clusters", std::move(clusters)}};
}

void print_row(const ClusterAom &cluster) {
    const auto text = [](auto ns) { return human_duration(static_cast<double>(ns)); };
    const auto &age = cluster.generated;
    fmt::print("{:>8} {:>10} {:>8.2f} {:>9} {:>9} {:>9} {:>9} {:>12}\n", cluster.cluster,
               cluster.departures,
               static_cast<double>(cluster.updates) / static_cast<double>(cluster.departures),
               text(age.age_ns), text(age.average_ns()), text(age.mean_peak_ns()),
               text(age.highest_peak_ns), text(cluster.arrival.average_ns()));
}

void print_table(const MeterOptions &options, const Meter::Reading &reading,
                 std::uint64_t started_ns) {
    fmt::print("{}: {} messages {} in {}", options.device, reading.counters.received,
               options.sent ? "sent" : "received",
               human_duration(static_cast<double>(reading.aom.now_ns - started_ns)));
    const std::pair<std::uint64_t, const char *> besides[] = {
        {total(reading.counters.malformed), "malformed"},
        {total(reading.counters.not_allowed), "of clusters or segments out of range"},
        {reading.unread, "not looked into (UDP segmentation)"},
        {reading.counters.passages_unmetered, "not metered in time"}};
    for (const auto &[count, what] : besides)
        if (count != 0)
            fmt::print(", {} {}", count, what);
    fmt::print("\n{:>8} {:>10} {:>8} {:>9} {:>9} {:>9} {:>9} {:>12}\n", "cluster", "messages",
               "folded", "AoM now", "average", "peak mean", "highest", "since seen");
    for (const auto &cluster : reading.aom.clusters)
        print_row(cluster);
}

} // namespace

void print(const MeterOptions &options, const Meter::Reading &reading, std::uint64_t started_ns,
           bool json) {
    if (json)
        fmt::print("{}\n", meter_json(options, reading, started_ns).dump(options.for_ns ? 2 : -1));
    else
        print_table(options, reading, started_ns);
    std::fflush(stdout);
}

} // namespace olaf
