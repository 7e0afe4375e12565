// SPDX-License-Identifier: BSD-2-Clause
#include "top_screen.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "loader/datapath/config.hpp"
#include "loader/text/human.hpp"
#include "loader/text/names.hpp"
#include "loader/text/units.hpp"
#include "sparkline.hpp"
#include "status_text.hpp"
#include "verdict.hpp"

namespace olaf {
namespace {

constexpr int foot_lines = 1;
constexpr int at = 12; // where what a line of the head says begins
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
                            policy_name(config.default_policy), mode_name(record),
                            rate_text(config.rate_bps), deliver_names[config.deliver % 3],
                            target.empty() ? "" : " to " + target),
                columns - 9)}};
}

/// The verdict, with its remedy on a line of its own.
void add_verdict(std::vector<Line> &head, const Reading &reading, int columns) {
    const auto verdict = judge(reading.attachment, reading, reading.host);
    const auto look = verdict.first.health > Health::working ? Look::warning : Look::strong;
    const auto line = verdict_line(verdict.first);
    const auto state = health_name(verdict.first.health);
    head.push_back(
        {{0, fit(std::string(state), columns), look},
         {at, fit(line.substr(line.find_first_not_of(": ", state.size())), columns - at), look}});
    if (!verdict.first.remedy.empty())
        head.push_back({{at, fit("-> " + verdict.first.remedy, columns - at)}});
}

Line queue(const Reading &reading, const TopView &view, int columns) {
    const auto length = reading.snapshot.levels.queue_length;
    const auto capacity = reading.attachment.record.config.queue_capacity;
    const auto figures = fmt::format(" {}/{}", length, capacity);
    const int width = std::clamp(columns - at - 40, 4, 40);
    const double part = capacity == 0 ? 0 : static_cast<double>(length) / capacity;
    const auto fairness =
        aom_fairness(reading.aom, view.clock == AgeClock::arrival ? &ClusterAom::arrival
                                                                  : &ClusterAom::generated);
    return {{0, "queue", Look::dim},
            {at, bar(part, width, view.unicode), part > 0.9 ? Look::warning : Look::plain},
            {at + width, fit(fmt::format("{}, {} active, fairness {:.3f}", figures,
                                         reading.snapshot.active_clusters, fairness),
                             columns - at - width)}};
}

Line flow(const Rows &rows, int columns) {
    const auto per_second = [&](std::uint64_t count) {
        return human_count(rows.seconds > 0 ? static_cast<double>(count) / rows.seconds : 0);
    };
    return {
        {0, "messages", Look::dim},
        {at, fit(fmt::format("in {}/s, out {}/s with {}/s updates, fold {:.2f}",
                             per_second(rows.recent.received), per_second(rows.recent.messages_out),
                             per_second(rows.recent.updates_out), rows.recent.fold_factor()),
                 columns - at)}};
}

/// A line each, as long as there is room.
void add_jobs(std::vector<Line> &head, const Rows &rows, int columns, std::size_t most) {
    for (const auto &job : rows.jobs) {
        if (head.size() >= most)
            return;
        const auto up = job.up == 0 ? "" : fmt::format(" + {} up", job.up);
        const auto group = job.group.empty() ? "" : ", sums to " + job.group;
        head.push_back(
            {{0, fit(fmt::format("job {}", job.job), at - 1), Look::dim},
             {at, fit(fmt::format("{}, {} of {} members, {}/s sums of {}/s contributions, {}{} "
                                  "open, {} late, {} stale{}",
                                  job.state, job.heard, job.children, human_count(job.chunks_per_s),
                                  human_count(job.contributions_per_s), job.open, up, job.late,
                                  job.stale, group),
                      columns - at)}});
    }
}

/// Whatever didn't arrive, a line a group, as `olaf status` has it.
void add_losses(std::vector<Line> &head, const Reading &reading, int columns, std::size_t most) {
    const auto &config = reading.attachment.record.config;
    for (std::size_t i = 0; i < counter_groups().size(); i++) {
        const auto group = static_cast<olaf_group>(i);
        const auto &named = counter_groups()[i];
        if (!named.loses && group != OLAF_GROUP_lost_behind_updates)
            continue;
        const auto text = counted_text(group, reading.numbers(), config);
        if (text.empty())
            continue;
        if (head.size() >= most) {
            head.back() = {{0, "more", Look::dim}, {at, fit("olaf status tells", columns - at)}};
            return;
        }
        head.push_back({{0, fit(std::string(named.title), columns), Look::dim},
                        {at, fit(text, columns - at)}});
    }
}

/// All above the table. Reasons leave the table half of the screen.
std::vector<Line> draw_head(const Reading &reading, const Rows &rows, const TopView &view,
                            int lines, int columns) {
    std::vector<Line> head{title(reading, columns)};
    add_verdict(head, reading, columns);
    head.push_back(queue(reading, view, columns));
    head.push_back(flow(rows, columns));
    const auto half = static_cast<std::size_t>(std::max(lines / 2, 0));
    add_jobs(head, rows, columns, std::max(head.size(), half));
    add_losses(head, reading, columns, std::max(head.size(), half));
    head.emplace_back();
    return head;
}

/// Calls `place(column, from)` for each that there is room for; returns where they end.
template <class Place> int each_column(int columns, Place place) {
    int from = 0;
    for (std::size_t i = 0; i < top_columns().size(); i++) {
        const int width = top_columns()[i].width;
        if (from + width > columns)
            break;
        place(i, from);
        from += width + 1;
    }
    return from;
}

Line titles(const TopView &view, int columns) {
    Line line{{0, std::string(static_cast<std::size_t>(columns), ' '), Look::heading}};
    const int end = each_column(columns, [&](std::size_t i, int from) {
        const auto &column = top_columns()[i];
        line.push_back({from, fmt::format("{:>{}}", column.title, column.width),
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
    const int end = each_column(columns, [&](std::size_t i, int from) {
        const auto &column = top_columns()[i];
        line.push_back({from, fit(fmt::format("{:>{}}", column.text(row, view.clock), column.width),
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

std::size_t table_height(const Reading &reading, const Rows &rows, const TopView &view, int lines,
                         int columns) {
    const auto head = draw_head(reading, rows, view, lines, columns).size() + 1; // and titles
    return static_cast<std::size_t>(std::max(lines - static_cast<int>(head) - foot_lines, 0));
}

std::vector<Line> draw_top(const Reading &reading, const Rows &rows, const AomHistory &history,
                           const TopView &view, int lines, int columns) {
    auto sorted = rows.clusters;
    sort_rows(sorted, view.sort_column, view.reversed, view.clock);
    const auto room = table_height(reading, rows, view, lines, columns);
    const auto first = std::min(view.first_row, sorted.size());
    const auto shown = std::min(room, sorted.size() - first);

    auto screen = draw_head(reading, rows, view, lines, columns);
    screen.push_back(titles(view, columns));
    const auto above = screen.size();
    for (std::size_t i = first; i < first + shown; i++)
        screen.push_back(cluster(sorted[i], history, view, columns));
    if (sorted.empty() && room > 0)
        screen.push_back({{0, fit("no update yet", columns), Look::dim}});
    screen.resize(static_cast<std::size_t>(std::max(lines, 0)));
    if (screen.size() > above)
        screen.back() = help(sorted.size() - first - shown, columns);
    return screen;
}

} // namespace olaf
