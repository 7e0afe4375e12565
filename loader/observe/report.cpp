// SPDX-License-Identifier: BSD-2-Clause
#include "report.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <vector>

#include "loader/text/human.hpp"
#include "loader/text/json.hpp"
#include "olaf/try.hpp"
#include "page.hpp"
#include "rows.hpp"
#include "status_json.hpp"
#include "verdict.hpp"

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

namespace {

namespace fs = std::filesystem;

/// Inside the report's own folder, so that files can be renamed.
constexpr auto unfinished = ".unfinished";

/// Every file that a report may have.
const std::vector<std::string> &own_files() {
    static const std::vector<std::string> names = [] {
        std::vector<std::string> all{"index.html", "report.json",   "departures.csv", "folds.csv",
                                     "losses.csv", "occupancy.csv", "sawtooth.csv"};
        for (const auto *picture : {"aom", "folds", "losses", "occupancy"})
            for (const auto *theme : {".png", "-dark.png"})
                all.push_back(std::string(picture) + theme);
        return all;
    }();
    return names;
}

} // namespace

ReportFolder::ReportFolder(fs::path path) : path_(std::move(path)), fresh_(path_ / unfinished) {}

Result<std::unique_ptr<ReportFolder>> ReportFolder::open(const fs::path &path) {
    std::unique_ptr<ReportFolder> self(new ReportFolder(path));
    std::error_code error;
    fs::remove_all(self->fresh_, error); // of a report that was killed
    if (!error)
        fs::create_directories(self->fresh_, error);
    if (error)
        return fail("make directory", path.native(), error.value());
    return self;
}

ReportFolder::~ReportFolder() {
    std::error_code ignored;
    fs::remove_all(fresh_, ignored);
}

Result<void> ReportFolder::publish() {
    std::error_code error;
    // The page goes first and comes last: whoever opens it sees one report.
    for (const auto &name : own_files())
        if (fs::remove(path_ / name, error); error)
            return fail("remove the old", (path_ / name).native(), error.value());
    auto names = own_files();
    std::ranges::reverse(names);
    for (const auto &name : names) {
        fs::rename(fresh_ / name, path_ / name, error);
        if (error && error != std::errc::no_such_file_or_directory)
            return fail("write", (path_ / name).native(), error.value());
    }
    return {};
}

namespace {

constexpr auto head = R"(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Olaf: {device} on {host}, {started}</title>
<style>
{looks}h2 {{ font-size: 1.1rem; margin: 1.6rem 0 0.3rem; }}
.lead, .note {{ margin: 0.2rem 0; color: var(--faint); }}
.facts table {{ width: auto; }}
.facts th {{ font-weight: 500; color: var(--faint); white-space: normal; }}
.origin td {{ text-align: left; white-space: normal; overflow-wrap: anywhere; }}
.picture {{ overflow-x: auto; padding: 0; }}
.picture img {{ display: block; width: 100%; min-width: 34rem; height: auto; border-radius: 0.6rem; }}
th:first-child {{ text-align: left; }}
</style>
</head>
<body>
<header><h1>Olaf</h1><span class="lead">{device} on {host}, {seconds:.3g} s from {started}</span></header>
<p>At the end: {verdict}</p>
{warning})";

std::string html_escaped(const std::string &text) {
    std::string out;
    for (const char c : utf8(text))
        out += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
    return out;
}

std::string base64(const std::string &bytes) {
    constexpr std::string_view digits =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string out;
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        std::uint32_t group = 0;
        for (std::size_t j = 0; j < 3; j++)
            group =
                group << 8 | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0u);
        for (std::size_t j = 0; j < 4; j++)
            out += i + j <= bytes.size() ? digits[group >> (18 - 6 * j) & 63] : '=';
    }
    return out;
}

std::string age_text(const ClusterRow &row, double ns) {
    return row.aom.segments == 0 ? "–" : row.idle ? "idle" : human_duration(ns);
}

std::string peak_text(const Recording &recording, const ClusterRow &row, AgeClock clock) {
    const auto peak_ns = recorded_peak_ns(recording, row.cluster, clock);
    return peak_ns ? human_duration(static_cast<double>(*peak_ns)) : "–";
}

class Table {
  public:
    void row(const char *name, const std::string &value) {
        rows_ += fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td></tr>\n", name, value);
    }
    [[nodiscard]] std::string text(const char *title, const char *kind) const {
        return fmt::format("<h2>{}</h2>\n<div class=\"card facts {}\"><table>\n{}</table></div>\n", title,
                           kind, rows_);
    }

  private:
    std::string rows_;
};

/// Where it comes from, and how it was asked for.
std::string origin(const Recording &recording, const std::string &started) {
    Table table;
    const auto &about = recording.about;
    table.row("host", html_escaped(about.host));
    table.row("device", html_escaped(recording.last.attachment.device));
    table.row("recorded", fmt::format("{:.3g} s from {}", recording.seconds, started));
    table.row("queue", about.attached_with.empty()
                           ? "its options can't be told: its output has gone"
                           : "<code>" + html_escaped(about.attached_with) + "</code>");
    table.row("mode", mode_name(recording.last.attachment.record));
    table.row("this report", "<code>" + html_escaped(about.reported_with) + "</code>");
    table.row("version", "olaf " OLAF_PROJECT_VERSION);
    return table.text("Where this is from", "origin");
}

std::string summary(const Recording &recording) {
    Table table;
    const auto row = [&](const char *name, const std::string &value) { table.row(name, value); };
    const auto &flow = recording.rows.recent;
    row("messages received", fmt::format("{}", flow.received));
    row("messages out", fmt::format("{}", flow.messages_out));
    row("updates out, folded into those", fmt::format("{}", flow.updates_out));
    row("updates in a message out, mean", fmt::format("{:.3f}", flow.fold_factor()));
    row("messages dropped by the queue", fmt::format("{}", flow.dropped));
    row("Jain's fairness of AoM, by generation",
        fmt::format("{:.4f}", recorded_fairness(recording, AgeClock::generated)));
    row("Jain's fairness of AoM, by arrival",
        fmt::format("{:.4f}", recorded_fairness(recording, AgeClock::arrival)));
    return table.text("In all", "");
}

/// By the names of `olaf status`, those of which there was any.
std::string losses(const Recording &recording) {
    Table table;
    bool any = false;
    for (const auto &[reason, number, unit] : losses_by_reason(recording))
        if (number != 0) {
            table.row(reason.c_str(), fmt::format("{} {}", number, unit_text(number, unit)));
            any = true;
        }
    return any ? table.text("Lost", "") : "<h2>Lost</h2>\n<p>Nothing.</p>\n";
}

std::string clusters(const Recording &recording) {
    std::string text = "<h2>Clusters</h2>\n<p class=\"note\">In the recording: messages, and "
                       "averages and highest peaks of Age-of-Model.</p>\n"
                       "<div class=\"card\"><table>\n<tr>";
    for (const auto *title : {"cluster", "messages in", "messages out", "updates in each",
                              "messages dropped", "AoM by generation", "highest", "AoM by arrival",
                              "highest"})
        text += fmt::format("<th scope=\"col\">{}</th>", title);
    text += "</tr>\n";
    for (const auto &row : recording.rows.clusters)
        text += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td>{:.2f}</td><td>{}</td>"
                            "<td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
                            row.cluster, row.recent.received, row.recent.messages_out,
                            row.recent.fold_factor(), row.recent.dropped,
                            age_text(row, row.generated.average_ns()),
                            peak_text(recording, row, AgeClock::generated),
                            age_text(row, row.arrival.average_ns()),
                            peak_text(recording, row, AgeClock::arrival));
    return text + "</table></div>\n";
}

std::string warning(const Recording &recording) {
    std::string text;
    if (recording.missed > 0)
        text += fmt::format("<p class=\"note\">{} departures were too many to be told and are missing in the "
                            "pictures, not in the tables.</p>\n",
                            recording.missed);
    if (recording.events > recording.departures.size())
        text += fmt::format("<p class=\"note\">The sawtooths are of the first {} departures.</p>\n",
                            recording.departures.size());
    return text;
}

/// A file of the folder as an address of its own; nothing if it can't be read.
Result<std::string> inlined(const std::filesystem::path &path) {
    std::ifstream file(path, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    if (!file || bytes.empty())
        return fail("read", path.native(), errno);
    return "data:image/png;base64," + base64(bytes);
}

/// A picture, in the theme that the reader's screen is in.
Result<std::string> figure(const std::filesystem::path &directory, const Picture &picture) {
    const auto light = inlined(directory / (picture.name + ".png"));
    const auto dark = inlined(directory / (picture.name + "-dark.png"));
    if (!light || !dark)
        return light ? dark : light;
    return fmt::format("<h2>{0}</h2>\n<p class=\"note\">{1}</p>\n<div class=\"card picture\">"
                       "<picture><source media=\"(prefers-color-scheme: dark)\" srcset=\"{3}\">\n"
                       "<img alt=\"{0}. {1}\" src=\"{2}\"></picture></div>\n",
                       html_escaped(picture.title), html_escaped(picture.note), *light, *dark);
}

} // namespace

Result<void> write_page(const std::filesystem::path &directory, const Recording &recording,
                        const std::vector<Picture> &pictures) {
    const auto &attachment = recording.last.attachment;
    const auto verdict = judge(attachment, recording.last, recording.last.host);
    const auto started = fmt::format("{:%F %T} UTC", fmt::gmtime(recording.started_s));
    auto page = fmt::format(head, fmt::arg("device", html_escaped(attachment.device)),
                            fmt::arg("host", html_escaped(recording.about.host)),
                            fmt::arg("started", started), fmt::arg("looks", page_looks),
                            fmt::arg("seconds", recording.seconds),
                            fmt::arg("verdict", html_escaped(verdict_line(verdict.first))),
                            fmt::arg("warning", warning(recording)));
    page += summary(recording) + losses(recording);
    for (const auto &picture : pictures) {
        const auto shown = OLAF_TRY(figure(directory, picture));
        page += shown;
    }
    page += clusters(recording) + origin(recording, started) + "</body>\n</html>\n";
    return write_file(directory / "index.html", page);
}

} // namespace olaf
