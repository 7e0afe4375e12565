// SPDX-License-Identifier: BSD-2-Clause
#include "top_screen.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "loader/datapath/config.hpp"
#include "loader/text/human.hpp"
#include "loader/text/names.hpp"
#include "loader/text/units.hpp"
#include "sparkline.hpp"

namespace olaf {
namespace {

constexpr int head_lines = 5; // what is attached, queue, flow, blank, titles
constexpr int foot_lines = 1;
constexpr int least_sparkline = 8;

std::string fit(std::string text, int columns) {
    if (static_cast<int>(text.size()) > columns)
        text.resize(static_cast<std::size_t>(std::max(columns, 0)));
    return text;
}

Line title(const Reading &reading, int columns) {
    const auto &record = reading.attachment.record;
    const auto &config = record.config;
    const auto target = std::string(record.target);
    return {
        {0, "olaf top", Look::strong},
        {9, fit(fmt::format("{}: {}, {} mode, rate {}, {}{}", reading.attachment.device,
                            policy_name(config.default_policy), record.skb_mode ? "skb" : "native",
                            rate_text(config.rate_bps), deliver_names[config.deliver % 3],
                            target.empty() ? "" : " to " + target),
                columns - 9)}};
}

Line queue(const Reading &reading, const TopView &view, int columns) {
    const auto length = reading.snapshot.levels.queue_length;
    const auto capacity = reading.attachment.record.config.queue_capacity;
    const auto figures = fmt::format(" {}/{}", length, capacity);
    const int width = std::clamp(columns - 9 - 40, 4, 40);
    const double part = capacity == 0 ? 0 : static_cast<double>(length) / capacity;
    const auto fairness =
        aom_fairness(reading.aom, view.clock == AgeClock::arrival ? &ClusterAom::arrival
                                                                  : &ClusterAom::generated);
    return {{0, "queue", Look::dim},
            {9, bar(part, width, view.unicode), part > 0.9 ? Look::warning : Look::plain},
            {9 + width, fit(fmt::format("{}, {} active, fairness {:.3f}", figures,
                                        reading.snapshot.active_clusters, fairness),
                            columns - 9 - width)}};
}

/// "3 full, 1 reward": the reasons for which something was dropped.
std::string dropped(const Numbers &numbers) {
    std::string text;
    for (const auto *figure : whole_figures(OLAF_GROUP_dropped))
        if (const auto value = figure->in(numbers).value_or(0); value != 0)
            text += fmt::format("{}{} {}", text.empty() ? "" : ", ",
                                human_count(static_cast<double>(value)), figure->label());
    return text.empty() ? "0" : text;
}

Line flow(const Reading &reading, const Rows &rows, int columns) {
    const auto per_second = [&](std::uint64_t count) {
        return human_count(rows.seconds > 0 ? static_cast<double>(count) / rows.seconds : 0);
    };
    const auto lost = group_total(OLAF_GROUP_lost_behind_updates, reading.numbers());
    const auto behind =
        lost == 0 ? ""
                  : fmt::format("; {} updates lost behind", human_count(static_cast<double>(lost)));
    const auto blocked = reading.snapshot.gate.lost_ns == 0 ? "" : "; the way out takes nothing";
    return {
        {0, "messages", Look::dim},
        {9, fit(fmt::format("in {}/s, out {}/s, fold {:.2f}; dropped {}{}{}",
                            per_second(rows.recent.received), per_second(rows.recent.departed),
                            rows.recent.fold_factor(), dropped(reading.numbers()), behind, blocked),
                columns - 9)}};
}

/// Calls `place(column, at)` for each that there is room for; returns where they end.
template <class Place> int each_column(int columns, Place place) {
    int at = 0;
    for (std::size_t i = 0; i < top_columns().size(); i++) {
        const int width = top_columns()[i].width;
        if (at + width > columns)
            break;
        place(i, at);
        at += width + 1;
    }
    return at;
}

Line titles(const TopView &view, int columns) {
    Line line{{0, std::string(static_cast<std::size_t>(columns), ' '), Look::heading}};
    const int end = each_column(columns, [&](std::size_t i, int at) {
        const auto &column = top_columns()[i];
        line.push_back({at, fmt::format("{:>{}}", column.title, column.width),
                        i == view.sort_column ? Look::chosen : Look::heading});
    });
    if (columns - end - 1 >= least_sparkline)
        line.push_back({end + 1,
                        fit(view.clock == AgeClock::arrival ? "BY ARRIVAL" : "BY GENERATION",
                            columns - end - 1),
                        Look::heading});
    return line;
}

Line cluster(const ClusterRow &row, const AomHistory &history, const TopView &view, int columns) {
    Line line;
    const int end = each_column(columns, [&](std::size_t i, int at) {
        const auto &column = top_columns()[i];
        line.push_back({at, fit(fmt::format("{:>{}}", column.text(row, view.clock), column.width),
                                column.width)});
    });
    const auto curve = history.find(row.cluster);
    if (columns - end - 1 >= least_sparkline && curve != history.end())
        line.push_back({end + 1, sparkline(curve->second, columns - end - 1, view.unicode)});
    return line;
}

Line help(std::size_t hidden, int columns) {
    const auto more = hidden == 0 ? "" : fmt::format("{} more below", hidden);
    const int room = columns - static_cast<int>(more.size());
    Line line{
        {0, fit("q quit  < > sort by  r reverse  c clock  up down scroll", room - 2), Look::dim}};
    if (room >= 0)
        line.push_back({room, more, Look::plain});
    return line;
}

} // namespace

std::size_t table_height(int lines) {
    return static_cast<std::size_t>(std::max(lines - head_lines - foot_lines, 0));
}

std::vector<Line> draw_top(const Reading &reading, const Rows &rows, const AomHistory &history,
                           const TopView &view, int lines, int columns) {
    auto sorted = rows.clusters;
    sort_rows(sorted, view.sort_column, view.reversed, view.clock);
    const auto room = table_height(lines);
    const auto first = std::min(view.first_row, sorted.size());
    const auto shown = std::min(room, sorted.size() - first);

    std::vector<Line> screen{title(reading, columns),
                             queue(reading, view, columns),
                             flow(reading, rows, columns),
                             {},
                             titles(view, columns)};
    for (std::size_t i = first; i < first + shown; i++)
        screen.push_back(cluster(sorted[i], history, view, columns));
    if (sorted.empty() && room > 0)
        screen.push_back({{0, fit("no update yet", columns), Look::dim}});
    screen.resize(static_cast<std::size_t>(std::max(lines, 0)));
    if (lines > head_lines)
        screen.back() = help(sorted.size() - first - shown, columns);
    return screen;
}

} // namespace olaf
