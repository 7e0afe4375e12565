// SPDX-License-Identifier: BSD-2-Clause
// What `olaf top` shows, as text on a grid of columns: drawn by curses, or by a test.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "top_columns.hpp"

namespace olaf {

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

} // namespace olaf
