// SPDX-License-Identifier: BSD-2-Clause
#include "top.hpp"

#include <fmt/format.h>
#include <langinfo.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <clocale>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "loader/datapath/config.hpp"
#include "loader/text/human.hpp"
#include "loader/text/names.hpp"
#include "loader/text/units.hpp"
#include "status_text.hpp"
#include "verdict.hpp"

// Its macros would change everything that follows.
#define NCURSES_NOMACROS 1
#include <ncurses.h>

namespace olaf {
namespace {

constexpr std::array<const char *, 8> blocks{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr std::array<const char *, 8> letters{"_", ".", ",", "-", "~", "=", "*", "#"};

} // namespace

std::string sparkline(std::span<const double> values, int width, bool unicode) {
    const auto columns = static_cast<std::size_t>(std::max(width, 0));
    const auto shown = values.last(std::min(values.size(), columns));
    const double highest = shown.empty() ? 0 : std::ranges::max(shown);
    std::string text(columns - shown.size(), ' ');
    for (const double value : shown) {
        const auto level = highest > 0 ? std::clamp(std::lround(7 * value / highest), 0L, 7L) : 0L;
        text += (unicode ? blocks : letters)[static_cast<std::size_t>(level)];
    }
    return text;
}

std::string bar(double part, int width, bool unicode) {
    const auto full = static_cast<int>(std::lround(std::clamp(part, 0.0, 1.0) * width));
    std::string text;
    for (int i = 0; i < width; i++)
        text += i < full ? (unicode ? "█" : "#") : (unicode ? "░" : ".");
    return text;
}

namespace {

const Age &age_of(const ClusterRow &row, AgeClock clock) {
    return clock == AgeClock::arrival ? row.aom.arrival : row.aom.generated;
}

const RecentAge &recent_of(const ClusterRow &row, AgeClock clock) {
    return clock == AgeClock::arrival ? row.arrival : row.generated;
}

/// A duration of the meter, or nothing where that has seen no departure.
std::string row_age(const ClusterRow &row, double ns) {
    return row.aom.segments == 0 ? "-" : human_duration(ns);
}

/// The same of the last interval, in which an idle cluster has no age that means anything.
std::string recent_text(const ClusterRow &row, double ns) {
    return row.idle && row.aom.segments != 0 ? "idle" : row_age(row, ns);
}

double now_ns(const ClusterRow &row, AgeClock clock) {
    return static_cast<double>(age_of(row, clock).age_ns);
}
double average_ns(const ClusterRow &row, AgeClock clock) {
    return row.idle ? 0 : recent_of(row, clock).average_ns();
}
double peak_ns(const ClusterRow &row, AgeClock clock) {
    return row.idle ? 0 : static_cast<double>(recent_of(row, clock).highest_ns);
}
double fold(const ClusterRow &row, AgeClock) {
    return row.recent.fold_factor();
}
double dropped(const ClusterRow &row, AgeClock) {
    return static_cast<double>(row.total.dropped);
}

} // namespace

const std::vector<Column> &top_columns() {
    using Row = const ClusterRow &;
    static const std::vector<Column> columns{
        {"cluster", "CLUSTER", 7, [](Row row, AgeClock) { return double(row.cluster); },
         [](Row row, AgeClock) { return fmt::format("{}", row.cluster); }, false},
        {"aom", "AoM", 7, now_ns,
         [](Row row, AgeClock clock) { return row_age(row, now_ns(row, clock)); }, true},
        {"average", "AVERAGE", 7, average_ns,
         [](Row row, AgeClock clock) { return recent_text(row, average_ns(row, clock)); }, true},
        {"peak", "PEAK", 7, peak_ns,
         [](Row row, AgeClock clock) { return recent_text(row, peak_ns(row, clock)); }, true},
        {"in", "IN/s", 6, [](Row row, AgeClock) { return row.in_per_s; },
         [](Row row, AgeClock) { return human_count(row.in_per_s); }, true},
        {"out", "OUT/s", 6, [](Row row, AgeClock) { return row.out_per_s; },
         [](Row row, AgeClock) { return human_count(row.out_per_s); }, true},
        {"fold", "FOLD", 6, fold,
         [](Row row, AgeClock clock) {
             return row.recent.messages_out == 0 ? "-" : fmt::format("{:.2f}", fold(row, clock));
         },
         true},
        {"drops", "DROPS", 6, dropped,
         [](Row row, AgeClock clock) { return human_count(dropped(row, clock)); }, true}};
    return columns;
}

std::vector<std::string> column_keys() {
    std::vector<std::string> keys;
    for (const auto &column : top_columns())
        keys.emplace_back(column.key);
    return keys;
}

std::size_t column_by_key(const std::string &key) {
    const auto &columns = top_columns();
    const auto found = std::ranges::find_if(columns, [&](auto &c) { return key == c.key; });
    return found == columns.end() ? 0 : static_cast<std::size_t>(found - columns.begin());
}

void sort_rows(std::vector<ClusterRow> &rows, std::size_t column, bool reversed, AgeClock clock) {
    const auto &by = top_columns()[column];
    const bool descending = by.descends != reversed;
    std::ranges::sort(rows, [&](const ClusterRow &a, const ClusterRow &b) {
        const double x = by.value(a, clock), y = by.value(b, clock);
        if (x != y)
            return descending ? x > y : x < y;
        return a.cluster < b.cluster;
    });
}

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

namespace {

constexpr short warning_pair = 1;

attr_t attributes(Look look) {
    switch (look) {
    case Look::dim:
        return A_DIM;
    case Look::strong:
        return A_BOLD;
    case Look::heading:
        return A_REVERSE;
    case Look::chosen:
        return A_REVERSE | A_BOLD | A_UNDERLINE;
    case Look::warning:
        return static_cast<attr_t>(COLOR_PAIR(warning_pair)) | A_BOLD;
    case Look::plain:
        break;
    }
    return A_NORMAL;
}

} // namespace

Result<std::unique_ptr<Terminal>> Terminal::take() {
    if (::isatty(STDOUT_FILENO) == 0 || ::isatty(STDIN_FILENO) == 0)
        return fail("show a live table on", "standard output", 0,
                    "run it in one; olaf top --json and olaf status are for scripts",
                    "it is not a terminal");
    std::setlocale(LC_CTYPE, "");
    const char *kind = std::getenv("TERM");
    SCREEN *screen = newterm(nullptr, stdout, stdin);
    if (screen == nullptr)
        return fail("use the terminal", kind != nullptr ? kind : "", 0,
                    "set TERM to one that terminfo knows, such as xterm",
                    kind != nullptr ? "it is not known here" : "TERM is not set");
    set_escdelay(25);
    cbreak();
    noecho();
    nonl();
    curs_set(0);
    keypad(stdscr, TRUE);
    nodelay(stdscr, TRUE);
    if (has_colors()) {
        start_color();
        use_default_colors();
        init_pair(warning_pair, COLOR_RED, -1);
    }
    const bool unicode = std::string_view(nl_langinfo(CODESET)) == "UTF-8";
    return std::unique_ptr<Terminal>(new Terminal(screen, unicode));
}

Terminal::~Terminal() {
    endwin();
    delscreen(static_cast<SCREEN *>(screen_));
}

int Terminal::lines() const {
    return LINES;
}

int Terminal::columns() const {
    return COLS;
}

void Terminal::draw(const std::vector<Line> &screen) {
    erase();
    for (std::size_t row = 0; row < screen.size(); row++)
        for (const auto &piece : screen[row]) {
            attrset(static_cast<int>(attributes(piece.look)));
            mvaddstr(static_cast<int>(row), piece.column, piece.text.c_str());
        }
    attrset(A_NORMAL);
    refresh();
}

void Terminal::resize() {
    winsize size{};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0)
        resizeterm(size.ws_row, size.ws_col);
    clear();
}

Key Terminal::key() {
    switch (getch()) {
    case 'q':
    case 'Q':
        return Key::quit;
    case KEY_LEFT:
    case '<':
        return Key::left;
    case KEY_RIGHT:
    case '>':
        return Key::right;
    case KEY_UP:
    case 'k':
        return Key::up;
    case KEY_DOWN:
    case 'j':
        return Key::down;
    case KEY_PPAGE:
        return Key::page_up;
    case KEY_NPAGE:
    case ' ':
        return Key::page_down;
    case KEY_HOME:
    case 'g':
        return Key::home;
    case 'r':
        return Key::reverse;
    case 'c':
        return Key::clock;
    case KEY_RESIZE:
        return key(); // SIGWINCH has told already
    default:
        return Key::none;
    }
}

namespace {

/// Widest sparkline that anybody's terminal has room for.
constexpr std::size_t history_length = 512;
void keep(std::vector<double> &history, double value) {
    if (history.size() == history_length)
        history.erase(history.begin());
    history.push_back(value);
}

} // namespace

void Watched::add(Reading reading) {
    earlier = std::exchange(latest, std::move(reading));
    rows = rows_between(earlier, latest);
    if (rows.seconds == 0) // the first look
        return;
    for (const auto &row : rows.clusters) {
        keep(by_generated[row.cluster], row.generated.average_ns());
        keep(by_arrival[row.cluster], row.arrival.average_ns());
    }
}

bool obey(Key key, TopView &view, std::size_t room, std::size_t clusters) {
    const auto page = std::max<std::size_t>(room, 1);
    const auto last = clusters > page ? clusters - page : 0;
    const auto columns = top_columns().size();
    switch (key) {
    case Key::quit:
        return false;
    case Key::left:
        view.sort_column = (view.sort_column + columns - 1) % columns;
        break;
    case Key::right:
        view.sort_column = (view.sort_column + 1) % columns;
        break;
    case Key::up:
        view.first_row -= view.first_row > 0 ? 1 : 0;
        break;
    case Key::down:
        view.first_row++;
        break;
    case Key::page_up:
        view.first_row -= std::min(view.first_row, page);
        break;
    case Key::page_down:
        view.first_row += page;
        break;
    case Key::home:
        view.first_row = 0;
        break;
    case Key::reverse:
        view.reversed = !view.reversed;
        break;
    case Key::clock:
        view.clock = view.clock == AgeClock::arrival ? AgeClock::generated : AgeClock::arrival;
        break;
    case Key::none:
        break;
    }
    view.first_row = std::min(view.first_row, last);
    return true;
}

} // namespace olaf
