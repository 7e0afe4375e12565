// SPDX-License-Identifier: BSD-2-Clause
// `olaf meter`: the Age-of-Model of updates that pass a device.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "commands.hpp"
#include "loader/attachment/meter.hpp"
#include "loader/host/clock.hpp"
#include "loader/host/host.hpp"
#include "loader/host/until.hpp"
#include "loader/observe/aom_json.hpp"
#include "loader/text/units.hpp"

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
    const auto text = [](double ns) { return age_text(static_cast<std::uint64_t>(ns)); };
    const auto &age = cluster.generated;
    fmt::print("{:>8} {:>10} {:>8.2f} {:>9} {:>9} {:>9} {:>9} {:>12}\n", cluster.cluster,
               cluster.departures,
               static_cast<double>(cluster.updates) / static_cast<double>(cluster.departures),
               age_text(age.age_ns), text(age.average_ns()), text(age.mean_peak_ns()),
               age_text(age.highest_peak_ns), text(cluster.arrival.average_ns()));
}

void print_table(const MeterOptions &options, const Meter::Reading &reading,
                 std::uint64_t started_ns) {
    fmt::print("{}: {} messages {} in {}", options.device, reading.counters.received,
               options.sent ? "sent" : "received", age_text(reading.aom.now_ns - started_ns));
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

Result<void> meter(const MeterOptions &options, const GlobalOptions &global) {
    if (auto good = require_privileges("measure on", options.device); !good)
        return good;
    if (auto good = require_kernel("measure on", options.device); !good)
        return good;
    const auto device = find_device(options.device);
    if (!device)
        return std::unexpected(device.error());
    if (!device->ethernet)
        return fail("measure on", options.device, 0, "name an Ethernet device",
                    "its frames have no MAC header");
    const auto interrupts = Interrupts::catch_them();
    if (!interrupts)
        return std::unexpected(interrupts.error());
    const auto meter = Meter::attach(*device, {.port = static_cast<std::uint16_t>(options.port),
                                               .sent = options.sent,
                                               .max_clusters = options.max_clusters,
                                               .max_segments = options.max_segments});
    if (!meter)
        return std::unexpected(meter.error());
    const auto started = monotonic_ns();
    if (global.verbose)
        fmt::print(stderr, "{}: measuring\n", options.device);
    for (auto next = started;;) {
        next += options.for_ns.value_or(options.interval_ns);
        const auto interrupted = interrupts->until(next);
        if (!interrupted)
            return std::unexpected(interrupted.error());
        const auto reading = meter->read();
        if (!reading)
            return std::unexpected(reading.error());
        if (global.json)
            fmt::print("{}\n",
                       meter_json(options, *reading, started).dump(options.for_ns ? 2 : -1));
        else
            print_table(options, *reading, started);
        std::fflush(stdout);
        if (*interrupted || options.for_ns)
            return {};
    }
}

} // namespace olaf
