// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>

#include <cerrno>
#include <fstream>
#include <iterator>

#include "human.hpp"
#include "loader/text/units.hpp"
#include "report_files.hpp"

namespace olaf {
namespace {

using Json = nlohmann::ordered_json;

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

std::string age_text(const Json &age, const char *key) {
    return age.is_null() ? "–" : human_duration(age[key].get<double>());
}

std::string summary(const Json &report) {
    std::string rows;
    const auto row = [&](const char *name, const std::string &value) {
        rows += fmt::format("<tr><th>{}</th><td>{}</td></tr>\n", name, value);
    };
    const auto number = [&](const char *key) {
        return fmt::format("{}", report[key].get<std::uint64_t>());
    };
    row("messages received", number("received"));
    row("messages departed", number("departed"));
    row("updates folded into those", number("updates_out"));
    row("updates in a departure, mean", fmt::format("{:.3f}", report["fold_factor"].get<double>()));
    row("messages dropped by the queue", number("dropped"));
    row("Jain's fairness of AoM, by generation",
        fmt::format("{:.4f}", report["fairness"]["by_generated"].get<double>()));
    row("Jain's fairness of AoM, by arrival",
        fmt::format("{:.4f}", report["fairness"]["by_arrival"].get<double>()));
    return "<h2>In all</h2>\n<div class=\"table\"><table>\n" + rows + "</table></div>\n";
}

std::string clusters(const Json &report) {
    std::string text = "<h2>Clusters</h2>\n<p>Averages are of the recording; highest peaks since "
                       "the queue was attached.</p>\n<div class=\"table\"><table>\n<tr><th>cluster"
                       "</th><th>received</th><th>departed</th><th>folded</th><th>dropped</th>"
                       "<th>AoM by generation</th><th>peak</th><th>AoM by arrival</th>"
                       "<th>peak</th></tr>\n";
    for (const auto &row : report["clusters"])
        text += fmt::format(
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{:.2f}</td><td>{}</td>"
            "<td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
            row["cluster"].get<std::uint32_t>(), row["received"].get<std::uint64_t>(),
            row["departed"].get<std::uint64_t>(), row["fold_factor"].get<double>(),
            row["dropped"].get<std::uint64_t>(), age_text(row["by_generated"], "average_ns"),
            age_text(row["by_generated"], "peak_highest_ns"),
            age_text(row["by_arrival"], "average_ns"),
            age_text(row["by_arrival"], "peak_highest_ns"));
    return text + "</table></div>\n";
}

std::string warning(const Json &report) {
    const auto missed = report["departures_missed"].get<std::uint64_t>();
    std::string text;
    if (missed > 0)
        text += fmt::format("<p>{} departures were too many to be told and are missing in the "
                            "pictures, not in the tables.</p>\n",
                            missed);
    if (report["departures_told"].get<std::uint64_t>() >
        report["departures_recorded"].get<std::uint64_t>())
        text += fmt::format("<p>The sawtooths are of the first {} departures.</p>\n",
                            report["departures_recorded"].get<std::uint64_t>());
    return text;
}

} // namespace

Result<void> write_page(const std::filesystem::path &directory, const Json &report,
                        const std::vector<Picture> &pictures) {
    const auto &status = report["status"];
    const auto &rate = status["rate_bps"];
    const auto target = status["deliver"]["target"].get<std::string>();
    auto page = fmt::format(
        head, fmt::arg("device", escaped(status["device"].get<std::string>())),
        fmt::arg("seconds", report["seconds"].get<double>()),
        fmt::arg("about",
                 escaped(fmt::format("Policy {}, {} mode, rate {}, delivered {}{}.",
                                     status["policy"].get<std::string>(),
                                     status["mode"].get<std::string>(),
                                     rate_text(rate.is_null() ? 0 : rate.get<std::uint64_t>()),
                                     status["deliver"]["kind"].get<std::string>(),
                                     target.empty() ? "" : " to " + target))),
        fmt::arg("warning", warning(report)));
    page += summary(report);
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
    page += clusters(report) + "</body>\n</html>\n";
    return write_file(directory / "index.html", page);
}

} // namespace olaf
