// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cerrno>
#include <fstream>
#include <iterator>

#include "loader/text/human.hpp"
#include "olaf/try.hpp"
#include "page.hpp"
#include "report_files.hpp"
#include "verdict.hpp"
#include "words.hpp"

namespace olaf {
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

std::string escaped(const std::string &text) {
    std::string out;
    for (const char c : text)
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
    table.row("host", escaped(about.host));
    table.row("device", escaped(recording.last.attachment.device));
    table.row("recorded", fmt::format("{:.3g} s from {}", recording.seconds, started));
    table.row("queue", about.attached_with.empty()
                           ? "its options can't be told: its output has gone"
                           : "<code>" + escaped(about.attached_with) + "</code>");
    table.row("mode", mode_name(recording.last.attachment.record));
    table.row("this report", "<code>" + escaped(about.reported_with) + "</code>");
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
                       escaped(picture.title), escaped(picture.note), *light, *dark);
}

} // namespace

Result<void> write_page(const std::filesystem::path &directory, const Recording &recording,
                        const std::vector<Picture> &pictures) {
    const auto &attachment = recording.last.attachment;
    const auto verdict = judge(attachment, recording.last, recording.last.host);
    const auto started = fmt::format("{:%F %T} UTC", fmt::gmtime(recording.started_s));
    auto page = fmt::format(head, fmt::arg("device", escaped(attachment.device)),
                            fmt::arg("host", escaped(recording.about.host)),
                            fmt::arg("started", started), fmt::arg("looks", page_looks),
                            fmt::arg("seconds", recording.seconds),
                            fmt::arg("verdict", escaped(verdict_line(verdict.first))),
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
