// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>

#include <cerrno>
#include <fstream>
#include <iterator>

#include "loader/datapath/config.hpp"
#include "loader/text/human.hpp"
#include "loader/text/names.hpp"
#include "loader/text/units.hpp"
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
<title>Olaf: {device}, {seconds:.3g} s</title>
<style>
:root {{ color-scheme: light dark; --page: #f6f7f9; --card: #fff; --text: #1b1f24; --faint: #5c6570; --line: #dfe3e8; }}
@media (prefers-color-scheme: dark) {{ :root {{ --page: #12151a; --card: #1b2027; --text: #e6e9ed; --faint: #98a2ae; --line: #2d343d; }} }}
body {{ max-width: 70rem; margin: 0 auto; padding: 1rem; background: var(--page); color: var(--text); font: 1rem/1.45 system-ui, sans-serif; }}
h1 {{ font-size: 1.4rem; margin: 0; }}
h2 {{ font-size: 1.1rem; margin: 1.6rem 0 0.3rem; }}
p {{ margin: 0.2rem 0; color: var(--faint); }}
img {{ width: 100%; height: auto; background: #fff; border: 1px solid var(--line); border-radius: 0.6rem; }}
.table {{ overflow-x: auto; }}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums; background: var(--card); }}
th, td {{ text-align: right; padding: 0.3rem 0.7rem; border-bottom: 1px solid var(--line); white-space: nowrap; }}
th:first-child {{ text-align: left; }}
</style>
</head>
<body>
<h1>Olaf on {device}: {seconds:.3g} s recorded</h1>
<p>{about}</p>
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
    return row.aom.segments == 0 ? "–" : human_duration(ns);
}

std::string summary(const Recording &recording) {
    std::string rows;
    const auto row = [&](const char *name, const std::string &value) {
        rows += fmt::format("<tr><th>{}</th><td>{}</td></tr>\n", name, value);
    };
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
    return "<h2>In all</h2>\n<div class=\"table\"><table>\n" + rows + "</table></div>\n";
}

/// By the names of `olaf status`, those of which there was any.
std::string losses(const Recording &recording) {
    std::string rows;
    for (const auto &[reason, number, unit] : losses_by_reason(recording))
        if (number != 0)
            rows += fmt::format("<tr><th>{}</th><td>{} {}</td></tr>\n", reason, number,
                                unit_text(number, unit));
    return rows.empty()
               ? "<h2>Lost</h2>\n<p>Nothing.</p>\n"
               : "<h2>Lost</h2>\n<div class=\"table\"><table>\n" + rows + "</table></div>\n";
}

std::string clusters(const Recording &recording) {
    std::string text = "<h2>Clusters</h2>\n<p>Averages are of the recording; a peak is the highest "
                       "age in it.</p>\n<div class=\"table\"><table>\n<tr><th>cluster"
                       "</th><th>messages in</th><th>messages out</th><th>updates in each"
                       "</th><th>messages dropped</th>"
                       "<th>AoM by generation</th><th>peak</th><th>AoM by arrival</th>"
                       "<th>peak</th></tr>\n";
    for (const auto &row : recording.rows.clusters)
        text += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td>{:.2f}</td><td>{}</td>"
                            "<td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
                            row.cluster, row.recent.received, row.recent.messages_out,
                            row.recent.fold_factor(), row.recent.dropped,
                            age_text(row, row.generated.average_ns()),
                            age_text(row, static_cast<double>(row.generated.highest_ns)),
                            age_text(row, row.arrival.average_ns()),
                            age_text(row, static_cast<double>(row.arrival.highest_ns)));
    return text + "</table></div>\n";
}

std::string warning(const Recording &recording) {
    std::string text;
    if (recording.missed > 0)
        text += fmt::format("<p>{} departures were too many to be told and are missing in the "
                            "pictures, not in the tables.</p>\n",
                            recording.missed);
    if (recording.events > recording.departures.size())
        text += fmt::format("<p>The sawtooths are of the first {} departures.</p>\n",
                            recording.departures.size());
    return text;
}

/// What was attached, in a sentence.
std::string about(const Record &record) {
    const std::string target = record.target;
    return fmt::format(
        "Policy {}, {} mode, rate {}, delivered {}{}.", policy_name(record.config.default_policy),
        record.skb_mode ? "skb" : "native", rate_text(record.config.rate_bps),
        deliver_names[record.config.deliver % 3], target.empty() ? "" : " to " + target);
}

} // namespace

Result<void> write_page(const std::filesystem::path &directory, const Recording &recording,
                        const std::vector<Picture> &pictures) {
    const auto &attachment = recording.last.attachment;
    const auto verdict = judge(attachment, recording.last, recording.last.host);
    auto page = fmt::format(head, fmt::arg("device", escaped(attachment.device)),
                            fmt::arg("seconds", recording.seconds),
                            fmt::arg("about", escaped(about(attachment.record))),
                            fmt::arg("verdict", escaped(verdict_line(verdict.first))),
                            fmt::arg("warning", warning(recording)));
    page += summary(recording) + losses(recording);
    for (const auto &picture : pictures) {
        const auto path = directory / (picture.name + ".png");
        std::ifstream file(path, std::ios::binary);
        const std::string bytes{std::istreambuf_iterator<char>(file), {}};
        if (!file || bytes.empty())
            return fail("read", path.native(), errno);
        page += fmt::format("<h2>{0}</h2>\n<p>{1}</p>\n<img alt=\"{0}\" "
                            "src=\"data:image/png;base64,{2}\">\n",
                            picture.title, picture.note, base64(bytes));
    }
    page += clusters(recording) + "</body>\n</html>\n";
    return write_file(directory / "index.html", page);
}

} // namespace olaf
