// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <memory>

#include "olaf/try.hpp"
#include "report_files.hpp"
#include "status_json.hpp"

namespace olaf {
namespace {

using Json = nlohmann::ordered_json;

struct Close {
    void operator()(std::FILE *file) const { std::fclose(file); }
};

std::string departures_csv(const Recording &recording) {
    std::string text = "time_s,cluster,count,generated_age_ns,arrival_age_ns,wait_ns\n";
    for (const auto &departure : recording.departures)
        text += fmt::format("{:.9f},{},{},{},{},{}\n", departure.time_s, departure.cluster,
                            departure.count, departure.generated_age_ns, departure.arrival_age_ns,
                            departure.wait_ns);
    return text;
}

std::string occupancy_csv(const Recording &recording) {
    std::string text = "time_s,length\n";
    for (const auto &[time_s, length] : recording.occupancy)
        text += fmt::format("{:.9f},{}\n", time_s, length);
    return text;
}

/// By updates folded in: departures, and the part of them that had as many or fewer.
std::string folds_csv(const Recording &recording) {
    std::string text = "count,departures,cdf\n";
    std::uint64_t below = 0;
    for (const auto &[count, departures] : recording.folds) {
        below += departures;
        text += fmt::format("{},{},{:.9f}\n", count, departures,
                            static_cast<double>(below) / static_cast<double>(recording.events));
    }
    return text;
}

/// Two points a departure: the age just before it, and the one that it falls to. A line a cluster,
/// an empty one between.
std::string sawtooth_csv(const Recording &recording, AgeClock clock) {
    std::map<std::uint32_t, std::string> lines;
    std::map<std::uint32_t, double> newest; // A of the newest departed, seconds since the start
    for (const auto &departure : recording.departures) {
        const auto age_ns =
            clock == AgeClock::arrival ? departure.arrival_age_ns : departure.generated_age_ns;
        const double made = departure.time_s - static_cast<double>(age_ns) / 1e9;
        auto &line = lines[departure.cluster];
        const auto [before, first] = newest.try_emplace(departure.cluster, made);
        if (!first && made <= before->second)
            continue; // stale: the age goes on growing
        if (!first)
            line += fmt::format("{},{:.9f},{:.9f}\n", departure.cluster, departure.time_s,
                                departure.time_s - before->second);
        before->second = made;
        line += fmt::format("{},{:.9f},{:.9f}\n", departure.cluster, departure.time_s,
                            departure.time_s - made);
    }
    std::string text = "cluster,time_s,age_s\n";
    for (const auto &[cluster, line] : lines)
        text += line + "\n\n";
    return text;
}

std::string losses_csv(const Recording &recording) {
    std::string text = "reason,number,unit\n";
    for (const auto &[reason, number, unit] : losses_by_reason(recording))
        text += fmt::format("{},{},{}\n", reason, number, unit);
    return text;
}

Json age_json(double average_ns, const std::optional<std::uint64_t> &peak_ns) {
    return {{"average_ns", average_ns}, {"peak_highest_ns", peak_ns ? Json(*peak_ns) : Json()}};
}

} // namespace

Result<void> write_file(const std::filesystem::path &path, const std::string &content) {
    std::unique_ptr<std::FILE, Close> file(std::fopen(path.c_str(), "wbe"));
    if (!file || std::fwrite(content.data(), 1, content.size(), file.get()) != content.size() ||
        std::fflush(file.get()) != 0)
        return fail("write", path.native(), errno);
    return {};
}

Result<void> write_data(const std::filesystem::path &directory, const Recording &recording,
                        AgeClock clock) {
    for (const auto &[name, content] : {std::pair{"departures.csv", departures_csv(recording)},
                                        {"occupancy.csv", occupancy_csv(recording)},
                                        {"folds.csv", folds_csv(recording)},
                                        {"sawtooth.csv", sawtooth_csv(recording, clock)},
                                        {"losses.csv", losses_csv(recording)}})
        OLAF_TRY(write_file(directory / name, content));
    return {};
}

nlohmann::ordered_json report_json(const Recording &recording, AgeClock clock) {
    const auto &rows = recording.rows;
    const auto &last = recording.last;
    Json clusters = Json::array(), losses = Json::object();
    for (const auto &row : rows.clusters) {
        const bool aged = row.aom.segments > 0;
        const auto age = [&](double average_ns, AgeClock by) {
            return aged ? age_json(average_ns, recorded_peak_ns(recording, row.cluster, by))
                        : Json();
        };
        clusters.push_back(
            {{"cluster", row.cluster},
             {"received", row.recent.received},
             {"departed", row.recent.departed},
             {"messages_out", row.recent.messages_out},
             {"updates_out", row.recent.updates_out},
             {"dropped", row.recent.dropped},
             {"fold_factor", row.recent.fold_factor()},
             {"by_generated", age(row.generated.average_ns(), AgeClock::generated)},
             {"by_arrival", age(row.arrival.average_ns(), AgeClock::arrival)}});
    }
    for (const auto &[reason, number, unit] : losses_by_reason(recording))
        losses[reason] = number;
    return {{"host", recording.about.host},
            {"version", OLAF_PROJECT_VERSION},
            {"started", fmt::format("{:%FT%TZ}", fmt::gmtime(recording.started_s))},
            {"attached_with", recording.about.attached_with.empty() ? Json()
                                                              : Json(recording.about.attached_with)},
            {"reported_with", recording.about.reported_with},
            {"seconds", recording.seconds},
            {"clock", clock == AgeClock::arrival ? "arrival" : "generated"},
            {"departures_recorded", recording.departures.size()},
            {"departures_told", recording.events},
            {"departures_missed", recording.missed},
            {"received", rows.recent.received},
            {"departed", rows.recent.departed},
            {"messages_out", rows.recent.messages_out},
            {"updates_out", rows.recent.updates_out},
            {"dropped", rows.recent.dropped},
            {"fold_factor", rows.recent.fold_factor()},
            {"fairness",
             {{"by_generated", recorded_fairness(recording, AgeClock::generated)},
              {"by_arrival", recorded_fairness(recording, AgeClock::arrival)}}},
            {"losses", std::move(losses)},
            {"status", status_json(last.attachment, last, last.host, false)},
            {"clusters", std::move(clusters)}};
}

} // namespace olaf
