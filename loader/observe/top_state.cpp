// SPDX-License-Identifier: BSD-2-Clause
#include "top_state.hpp"

#include <algorithm>
#include <utility>

namespace olaf {
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
