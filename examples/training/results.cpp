// SPDX-License-Identifier: BSD-2-Clause
#include "results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>

namespace olaf::training {
namespace {

std::string number_or_null(const std::optional<double> &value) {
    return value ? fmt::format("{:.3f}", *value) : "null";
}

double milliseconds(double nanoseconds) {
    return nanoseconds / 1e6;
}

std::string cluster_json(const ClusterProgress &each, std::int64_t end_ns,
                         const std::string &measure) {
    const ClusterStats &stats = each.cluster->stats();
    const AomMeter &aom = each.cluster->aom();
    return fmt::format(
        "{{\"cluster\": {}, \"updates_received\": {}, \"updates_folded\": {}, "
        "\"updates_applied\": {}, \"checksum_failures\": {}, \"aom_average_ms\": {:.3f}, "
        "\"aom_peak_ms\": {:.3f}, \"aom_mean_peak_ms\": {:.3f}, \"time_to_target_s\": {}, "
        "\"mean_{}\": {:.2f}, \"model_version\": {}}}",
        each.cluster->id(), stats.messages, stats.folded, stats.applied,
        stats.rejected[Reject::wrong_checksum], milliseconds(aom.average_ns(end_ns)),
        milliseconds(static_cast<double>(aom.highest_peak_ns())), milliseconds(aom.mean_peak_ns()),
        number_or_null(each.curve.reached()), measure, each.curve.mean(), each.cluster->version());
}

Result<void> write(const std::string &path, const std::string &text) {
    std::ofstream file(path, std::ios::binary);
    file << text;
    file.close();
    if (!file)
        return fail("write results", path, errno);
    return {};
}

} // namespace

std::string summary_json(const Progress &progress, const ServerStats &server,
                         const RunSettings &settings) {
    std::uint64_t received = 0, folded = 0, applied = 0, lag = 0;
    double average = 0;
    std::int64_t peak = 0;
    std::string clusters;
    for (const ClusterProgress &each : progress.clusters()) {
        const ClusterStats &stats = each.cluster->stats();
        received += stats.messages;
        folded += stats.folded;
        applied += stats.applied;
        lag += stats.total_lag;
        average += each.cluster->aom().average_ns(progress.last_ns());
        peak = std::max(peak, each.cluster->aom().highest_peak_ns());
        clusters += fmt::format("{}\n    {}", clusters.empty() ? "" : ",",
                                cluster_json(each, progress.last_ns(), settings.measure));
    }
    return fmt::format(
        "{{\n  \"seed\": {}, \"rule\": \"{}\", \"target\": {}, \"duration_s\": {:.3f},\n"
        "  \"total\": {{\"updates_received\": {}, \"updates_folded\": {}, "
        "\"updates_applied\": {}, \"checksum_failures\": {}, \"rejected\": {}, "
        "\"acks_sent\": {}, \"acks_unsent\": {}, \"aom_average_ms\": {:.3f}, "
        "\"aom_peak_ms\": {:.3f}, \"clusters_at_target\": {}, \"time_to_target_s\": {}, "
        "\"staleness_mean\": {:.3f}, \"mean_{}\": {:.2f}}},\n"
        "  \"clusters\": [{}\n  ]\n}}\n",
        settings.seed, settings.rule, settings.target, progress.seconds(progress.last_ns()),
        received, folded, applied, server.rejected[Reject::wrong_checksum], server.rejected.total(),
        server.acks_sent, server.acks_unsent,
        milliseconds(average / static_cast<double>(progress.clusters().size())),
        milliseconds(static_cast<double>(peak)), progress.reached(),
        number_or_null(progress.all_reached()),
        static_cast<double>(lag) / static_cast<double>(std::max<std::uint64_t>(folded, 1)),
        settings.measure, progress.mean(), clusters);
}

std::string aom_csv(const Progress &progress) {
    std::string text = "time_s,cluster,aom_ms\n";
    for (const ClusterProgress &each : progress.clusters()) {
        const Delivery *last = nullptr;
        for (const Delivery &delivery : each.cluster->series()) {
            const double seconds = progress.seconds(delivery.time_ns);
            if (last != nullptr)
                fmt::format_to(std::back_inserter(text), "{:.6f},{},{:.3f}\n", seconds,
                               each.cluster->id(),
                               milliseconds(static_cast<double>(last->aom_after_ns +
                                                                delivery.time_ns - last->time_ns)));
            fmt::format_to(std::back_inserter(text), "{:.6f},{},{:.3f}\n", seconds,
                           each.cluster->id(),
                           milliseconds(static_cast<double>(delivery.aom_after_ns)));
            last = &delivery;
        }
        text += '\n';
    }
    return text;
}

std::string learning_csv(const Progress &progress, const RunSettings &settings) {
    std::string text = fmt::format("time_s,cluster,mean_{}\n", settings.measure);
    for (const ClusterProgress &each : progress.clusters()) {
        LearningCurve curve(settings.target);
        for (const Delivery &delivery : each.cluster->series()) {
            const double seconds = progress.seconds(delivery.time_ns);
            curve.add(seconds, static_cast<float>(delivery.mean_reward), delivery.count);
            fmt::format_to(std::back_inserter(text), "{:.6f},{},{:.2f}\n", seconds,
                           each.cluster->id(), curve.mean());
        }
        text += '\n';
    }
    return text;
}

Result<void> publish(const std::string &prefix, const Progress &progress, const ServerStats &server,
                     const RunSettings &settings) {
    const std::string summary = summary_json(progress, server, settings);
    fmt::print("{}", summary);
    if (prefix.empty())
        return {};
    if (auto done = write(prefix + ".json", summary); !done)
        return done;
    if (auto done = write(prefix + "-aom.csv", aom_csv(progress)); !done)
        return done;
    return write(prefix + "-learning.csv", learning_csv(progress, settings));
}

} // namespace olaf::training
