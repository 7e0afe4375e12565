// SPDX-License-Identifier: BSD-2-Clause
// `olaf top`: clusters as they are now, until somebody has seen enough.
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>

#include "commands.hpp"
#include "loader/host/host.hpp"
#include "loader/host/signals.hpp"
#include "loader/observe/top.hpp"
#include "olaf/try.hpp"

namespace olaf {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::nanoseconds;

/// Waits for a moment, a signal or, on a terminal, a key.
class Waiter {
  public:
    /// Looks at a terminal for keys, or only whether somebody reads there.
    Waiter(const Signals &signals, int fd, bool keys) : signals_(signals), fd_(fd), keys_(keys) {}

    /// What ended the waiting: a signal's number, 0 else.
    Result<int> until(Clock::time_point when) const {
        const auto left = std::max(when - Clock::now(), Clock::duration{});
        pollfd ready[] = {
            {.fd = signals_.fd(), .events = POLLIN, .revents = 0},
            {.fd = fd_, .events = static_cast<short>(keys_ ? POLLIN : 0), .revents = 0}};
        const auto time = std::chrono::ceil<std::chrono::milliseconds>(left).count();
        if (::poll(ready, 2, static_cast<int>(time)) < 0 && errno != EINTR)
            return fail("wait for", "the next look", errno);
        if ((ready[1].revents & (POLLERR | POLLHUP)) != 0)
            return SIGHUP; // the terminal, or who reads our lines, has gone
        return signals_.take();
    }

  private:
    const Signals &signals_;
    int fd_;
    bool keys_;
};

Result<void> show_table(QueueReader &reader, Watched watched, const Signals &signals,
                        const TopOptions &options) {
    auto terminal = OLAF_TRY(Terminal::take());
    TopView view{.sort_column = column_by_key(options.sort), .unicode = terminal->unicode()};
    const Waiter waiter(signals, STDIN_FILENO, true);
    for (auto next = Clock::now() + nanoseconds(options.first_ns);;) {
        const auto &history =
            view.clock == AgeClock::arrival ? watched.by_arrival : watched.by_generated;
        terminal->draw(draw_top(watched.latest, watched.rows, history, view, terminal->lines(),
                                terminal->columns()));
        const auto signal = OLAF_TRY(waiter.until(next));
        if (signal == SIGWINCH)
            terminal->resize();
        else if (signal != 0)
            return {};
        const auto room = table_height(watched.latest, watched.rows, view, terminal->lines(),
                                       terminal->columns());
        for (auto key = terminal->key(); key != Key::none; key = terminal->key())
            if (!obey(key, view, room, watched.rows.clusters.size()))
                return {};
        if (Clock::now() < next)
            continue;
        watched.add(OLAF_TRY(reader.read()));
        next = Clock::now() + nanoseconds(options.interval_ns);
    }
}

Result<void> hand_over(QueueReader &reader, Watched watched, const Signals &signals,
                       const TopOptions &options, int out_fd, const RowsReader &take) {
    const Waiter waiter(signals, out_fd, false);
    for (auto next = Clock::now() + nanoseconds(options.first_ns);;) {
        const auto signal = OLAF_TRY(waiter.until(next));
        if (signal != 0)
            return {};
        if (Clock::now() < next)
            continue;
        watched.add(OLAF_TRY(reader.read()));
        if (!take(watched.latest, watched.rows))
            return {};
        next = Clock::now() + nanoseconds(options.interval_ns);
    }
}

using Show = std::function<Result<void>(QueueReader &, Watched, const Signals &)>;

/// Begins with a first look.
Result<void> look_on(const TopOptions &options, std::initializer_list<int> held, const Show &show) {
    OLAF_TRY(require_privileges("read the queue of", options.device));
    const auto attachment = OLAF_TRY(live_attachment(options.device));
    QueueReader reader(attachment);
    auto reading = OLAF_TRY(reader.read());
    const auto signals = OLAF_TRY(Signals::hold(held));
    Watched watched;
    watched.latest = reading;
    watched.add(std::move(reading));
    return show(reader, std::move(watched), signals);
}

} // namespace

Result<void> top(const TopOptions &options) {
    return look_on(options, {SIGINT, SIGTERM, SIGHUP, SIGWINCH},
                   [&](QueueReader &reader, Watched watched, const Signals &signals) {
                       return show_table(reader, std::move(watched), signals, options);
                   });
}

Result<void> watch(const TopOptions &options, int out_fd, const RowsReader &take) {
    return look_on(options, {SIGINT, SIGTERM, SIGHUP},
                   [&](QueueReader &reader, Watched watched, const Signals &signals) {
                       return hand_over(reader, std::move(watched), signals, options, out_fd, take);
                   });
}

} // namespace olaf
