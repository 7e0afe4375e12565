// SPDX-License-Identifier: BSD-2-Clause
// `olaf top`: clusters as they are now, until somebody has seen enough.
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>

#include "commands.hpp"
#include "live_json.hpp"
#include "loader/host.hpp"
#include "signals.hpp"
#include "terminal.hpp"

namespace olaf {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::nanoseconds;

/// Widest sparkline that anybody's terminal has room for.
constexpr std::size_t history_length = 512;
/// So soon after the start there are rates to show.
constexpr nanoseconds first_look = std::chrono::milliseconds(200);

/// The last two readings, and how recent averages went.
struct Watched {
    Reading earlier, latest;
    Rows rows;
    AomHistory by_generated, by_arrival;

    void add(Reading reading) {
        earlier = std::exchange(latest, std::move(reading));
        rows = rows_between(earlier, latest);
        for (const auto &row : rows.seconds > 0 ? rows.clusters : std::vector<ClusterRow>{}) {
            keep(by_generated[row.cluster], row.recent_generated_ns);
            keep(by_arrival[row.cluster], row.recent_arrival_ns);
        }
    }

  private:
    static void keep(std::vector<double> &history, double value) {
        if (history.size() == history_length)
            history.erase(history.begin());
        history.push_back(value);
    }
};

/// Waits for a signal, the time or, with a terminal, a key. False: it is time to end.
class Waiter {
  public:
    Waiter(const Signals &signals, bool keys) : signals_(signals), keys_(keys) {}

    /// What ended the waiting: a signal's number, 0 else.
    Result<int> until(Clock::time_point when) const {
        const auto left = std::max(when - Clock::now(), Clock::duration{});
        pollfd ready[] = {{.fd = signals_.fd(), .events = POLLIN, .revents = 0},
                          {.fd = keys_ ? STDIN_FILENO : STDOUT_FILENO,
                           .events = static_cast<short>(keys_ ? POLLIN : 0),
                           .revents = 0}};
        const auto time = std::chrono::ceil<std::chrono::milliseconds>(left).count();
        if (::poll(ready, 2, static_cast<int>(time)) < 0 && errno != EINTR)
            return fail("wait for", "the next look", errno);
        if ((ready[1].revents & (POLLERR | POLLHUP)) != 0)
            return SIGHUP; // the terminal, or who reads our lines, has gone
        return signals_.take();
    }

  private:
    const Signals &signals_;
    bool keys_;
};

/// What a key asks for; false: to end.
bool obey(Key key, TopView &view, const Terminal &terminal, std::size_t clusters) {
    const auto page = std::max<std::size_t>(table_height(terminal.lines()), 1);
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

Result<void> show_table(QueueReader &reader, Watched watched, const Signals &signals,
                        const TopOptions &options) {
    auto terminal = Terminal::take();
    if (!terminal)
        return std::unexpected(terminal.error());
    TopView view{.sort_column = column_by_key(options.sort), .unicode = (*terminal)->unicode()};
    const Waiter waiter(signals, true);
    for (auto next = Clock::now() + first_look;;) {
        const auto &history =
            view.clock == AgeClock::arrival ? watched.by_arrival : watched.by_generated;
        (*terminal)->draw(draw_top(watched.latest, watched.rows, history, view,
                                   (*terminal)->lines(), (*terminal)->columns()));
        const auto signal = waiter.until(next);
        if (!signal)
            return std::unexpected(signal.error());
        if (*signal == SIGWINCH)
            (*terminal)->resize();
        else if (*signal != 0)
            return {};
        for (auto key = (*terminal)->key(); key != Key::none; key = (*terminal)->key())
            if (!obey(key, view, **terminal, watched.rows.clusters.size()))
                return {};
        if (Clock::now() < next)
            continue;
        auto reading = reader.read();
        if (!reading)
            return std::unexpected(reading.error());
        watched.add(std::move(*reading));
        next = Clock::now() + nanoseconds(options.interval_ns);
    }
}

/// For scripts: an object a look.
Result<void> print_lines(QueueReader &reader, Watched watched, const Signals &signals,
                         const TopOptions &options) {
    const Waiter waiter(signals, false);
    for (auto next = Clock::now() + first_look;;) {
        const auto signal = waiter.until(next);
        if (!signal)
            return std::unexpected(signal.error());
        if (*signal != 0)
            return {};
        if (Clock::now() < next)
            continue;
        auto reading = reader.read();
        if (!reading)
            return std::unexpected(reading.error());
        watched.add(std::move(*reading));
        fmt::print("{}\n", live_json(watched.latest, watched.rows).dump());
        if (std::fflush(stdout) != 0)
            return {};
        next = Clock::now() + nanoseconds(options.interval_ns);
    }
}

} // namespace

Result<void> top(const TopOptions &options, const GlobalOptions &global) {
    if (auto good = require_privileges("read the queue of", options.device); !good)
        return good;
    const auto attachment = live_attachment(options.device);
    if (!attachment)
        return std::unexpected(attachment.error());
    QueueReader reader(*attachment);
    auto reading = reader.read();
    if (!reading)
        return std::unexpected(reading.error());
    const auto signals = global.json ? Signals::hold({SIGINT, SIGTERM, SIGHUP})
                                     : Signals::hold({SIGINT, SIGTERM, SIGHUP, SIGWINCH});
    if (!signals)
        return std::unexpected(signals.error());
    Watched watched;
    watched.latest = *reading;
    watched.add(std::move(*reading));
    return global.json ? print_lines(reader, std::move(watched), *signals, options)
                       : show_table(reader, std::move(watched), *signals, options);
}

} // namespace olaf
