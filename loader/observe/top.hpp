// SPDX-License-Identifier: BSD-2-Clause
// `olaf top`: the screen, its columns, and the terminal that it is drawn on.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "olaf/result.hpp"
#include "rows.hpp"

namespace olaf {

// A curve in a line of text.

/// The last `width` values, the newest at the right, from 0 to the highest of those shown; blank
/// where there is none yet. Blocks of Unicode, or ASCII where the terminal has no such.
std::string sparkline(std::span<const double> values, int width, bool unicode);

/// How full: `width` columns.
std::string bar(double part, int width, bool unicode);

// The columns of `olaf top`: what each shows, and how rows are ordered by it.

struct Column {
    const char *key;   ///< for --sort
    const char *title; ///< as wide as `width` at most
    int width;
    double (*value)(const ClusterRow &row, AgeClock clock);
    std::string (*text)(const ClusterRow &row, AgeClock clock);
    bool descends; ///< what is worth looking at is at the high end
};

const std::vector<Column> &top_columns();
std::vector<std::string> column_keys();

/// Index of the column of that key; the first if there is none.
std::size_t column_by_key(const std::string &key);

/// Orders rows by a column, equal ones by cluster.
void sort_rows(std::vector<ClusterRow> &rows, std::size_t column, bool reversed, AgeClock clock);

// What `olaf top` shows, as text on a grid of columns: drawn by curses, or by a test.

enum class Look { plain, dim, strong, heading, chosen, warning };

/// A piece of text at its place in a line.
struct Piece {
    int column = 0;
    std::string text;
    Look look = Look::plain;
};
using Line = std::vector<Piece>;

struct TopView {
    std::size_t sort_column = 0;
    bool reversed = false;
    AgeClock clock = AgeClock::generated;
    std::size_t first_row = 0; ///< of the clusters, scrolled
    bool unicode = true;
};

/// Recent average AoM by cluster, oldest first: the sparklines.
using AomHistory = std::map<std::uint32_t, std::vector<double>>;

/// Rows that clusters have on a screen of that size: what there is to tell stands above them.
std::size_t table_height(const Reading &reading, const Rows &rows, const TopView &view, int lines,
                         int columns);

/// Exactly `lines` lines, none wider than `columns`.
std::vector<Line> draw_top(const Reading &reading, const Rows &rows, const AomHistory &history,
                           const TopView &view, int lines, int columns);

// The terminal, taken over for as long as an object lives and then given back as it was.

enum class Key { none, quit, left, right, up, down, page_up, page_down, home, reverse, clock };

class Terminal {
  public:
    static Result<std::unique_ptr<Terminal>> take();
    ~Terminal();
    Terminal(const Terminal &) = delete;
    Terminal &operator=(const Terminal &) = delete;

    [[nodiscard]] int lines() const;
    [[nodiscard]] int columns() const;
    /// Whether its character set has more than ASCII.
    [[nodiscard]] bool unicode() const { return unicode_; }

    void draw(const std::vector<Line> &screen);
    /// Takes the window's new size over, after SIGWINCH.
    void resize();
    /// The next key pressed; none at once if there isn't any.
    Key key();

  private:
    Terminal(void *screen, bool unicode) : screen_(screen), unicode_(unicode) {}
    void *screen_; ///< curses' SCREEN
    bool unicode_;
};

// What `olaf top` remembers between two looks, and how keys change what it shows.

/// The last two readings, and how recent averages went.
struct Watched {
    Reading earlier, latest;
    Rows rows; ///< between those
    AomHistory by_generated, by_arrival;

    void add(Reading reading);
};

/// What a key asks for, where `room` clusters are on the screen; false: to end.
bool obey(Key key, TopView &view, std::size_t room, std::size_t clusters);

} // namespace olaf
