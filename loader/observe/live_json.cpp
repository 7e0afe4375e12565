// SPDX-License-Identifier: BSD-2-Clause
#include "live_json.hpp"

#include "aom_json.hpp"
#include "status_json.hpp"

namespace olaf {
namespace {

using Json = nlohmann::ordered_json;

Json flow_json(const Flow &total, const Flow &recent, double seconds) {
    const auto rate = [&](std::uint64_t count) {
        return seconds > 0 ? static_cast<double>(count) / seconds : 0.0;
    };
    return {{"received", total.received},
            {"departed", total.departed},
            {"messages_out", total.messages_out},
            {"updates_out", total.updates_out},
            {"dropped", total.dropped},
            {"received_per_s", rate(recent.received)},
            {"departed_per_s", rate(recent.departed)},
            {"messages_out_per_s", rate(recent.messages_out)},
            {"updates_out_per_s", rate(recent.updates_out)},
            {"dropped_per_s", rate(recent.dropped)},
            {"fold_factor", recent.fold_factor()}};
}

Json cluster_json(const ClusterRow &row, double seconds, std::uint64_t now_ns) {
    Json object{{"cluster", row.cluster}};
    object.update(flow_json(row.total, row.recent, seconds));
    object["aom"] = nullptr; // nothing has left yet
    object["recent_average"] = object["recent_peak"] = nullptr;
    object["idle"] = row.idle;
    if (row.aom.segments > 0) {
        object["aom"] = cluster_aom_json(row.aom, now_ns);
        object["recent_average"] = {{"by_arrival_ns", row.arrival.average_ns()},
                                    {"by_generated_ns", row.generated.average_ns()}};
        object["recent_peak"] = {{"by_arrival_ns", row.arrival.highest_ns},
                                 {"by_generated_ns", row.generated.highest_ns}};
    }
    return object;
}

Json job_json(const JobRow &row) {
    return {{"job", row.job},
            {"state", row.state},
            {"members", row.heard},
            {"children", row.children},
            {"contributions_per_s", row.contributions_per_s},
            {"chunks_per_s", row.chunks_per_s},
            {"open", row.open},
            {"up", row.up},
            {"late", row.late},
            {"stale", row.stale},
            {"group", row.group.empty() ? Json(nullptr) : Json(row.group)}};
}

} // namespace

nlohmann::ordered_json live_json(const Reading &latest, const Rows &rows) {
    Json clusters = Json::array();
    for (const auto &row : rows.clusters)
        clusters.push_back(cluster_json(row, rows.seconds, latest.aom.now_ns));
    Json jobs = Json::array();
    for (const auto &row : rows.jobs)
        jobs.push_back(job_json(row));
    auto total = flow_json(rows.total, rows.recent, rows.seconds);
    if (latest.lost())
        for (auto &figure : total)
            figure = nullptr; // not known, which isn't none
    return {{"time_ns", latest.aom.now_ns},
            {"interval_s", rows.seconds},
            {"total", std::move(total)},
            {"status", status_json(latest.attachment, latest, latest.host, false)},
            {"clusters", std::move(clusters)},
            {"jobs", std::move(jobs)}};
}

nlohmann::ordered_json counters_json() {
    Json list = Json::array();
    for (const auto &figure : figures())
        list.push_back({{"path", figure.path()},
                        {"object", figure.object},
                        {"key", figure.key},
                        {"unit", figure.unit},
                        {"meaning", figure.meaning}});
    return list;
}

} // namespace olaf
