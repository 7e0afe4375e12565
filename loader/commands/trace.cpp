// SPDX-License-Identifier: BSD-2-Clause
// `olaf trace`: events as they happen.
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>

#include "commands.hpp"
#include "loader/host/host.hpp"
#include "loader/host/notes.hpp"
#include "loader/host/signals.hpp"
#include "loader/observe/events.hpp"
#include "olaf/try.hpp"

namespace olaf {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::nanoseconds;

/// Asks the kernel for as little as it can tell apart; the rest is filtered here.
Interest interest_of(const TraceOptions &options, std::uint32_t frame_bytes) {
    Interest interest{.sample = options.sample, .frame_bytes = frame_bytes};
    if (!options.filter.clusters.empty()) {
        interest.first_cluster = std::ranges::min(options.filter.clusters, {}, &Range::first).first;
        interest.last_cluster = std::ranges::max(options.filter.clusters, {}, &Range::last).last;
    }
    return interest;
}

class Trace {
  public:
    Trace(const TraceOptions &options, TraceOutput &output, const Signals &signals)
        : options_(options), output_(output), signals_(signals) {
        if (options.for_ns)
            end_ = Clock::now() + nanoseconds(*options.for_ns);
    }

    /// False once it can't be written.
    bool take(const Event &event) {
        if (passes(options_.filter, event))
            check(output_.event(event));
        return error_ == 0;
    }

    /// Until a signal comes, the time is over, or nobody reads any more.
    Result<void> run(Listener &listener) {
        for (bool over = false; !over && error_ == 0;) {
            OLAF_TRY(wait(listener.fd()));
            over = signals_.take() != 0 || (end_ && Clock::now() >= *end_);
            if (over)
                listener.stop(); // what it has written by now is still told
            else
                OLAF_TRY(listener.renew());
            OLAF_TRY(listener.consume());
            OLAF_TRY(count_missed(listener));
            check(over ? output_.finish(missed_) : output_.flush());
        }
        // `olaf trace | head` is done when head is.
        if (error_ == 0 || error_ == EPIPE)
            return {};
        return fail("write", output_.name(), error_);
    }

  private:
    void check(bool written) {
        if (!written && error_ == 0)
            error_ = errno;
    }

    Result<void> wait(int events_fd) {
        nanoseconds time = Listener::renewal / 2;
        if (end_)
            time = std::clamp<nanoseconds>(*end_ - Clock::now(), {}, time);
        pollfd ready[] = {{.fd = events_fd, .events = POLLIN, .revents = 0},
                          {.fd = signals_.fd(), .events = POLLIN, .revents = 0},
                          {.fd = output_.fd(), .events = 0, .revents = 0}};
        const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(time).count();
        if (::poll(ready, std::size(ready), static_cast<int>(milliseconds)) < 0 && errno != EINTR)
            return fail("wait for", "events", errno);
        if ((ready[2].revents & POLLERR) != 0)
            error_ = EPIPE; // the reader has gone, whether or not there is something to tell
        return {};
    }

    Result<void> count_missed(const Listener &listener) {
        const auto missed = OLAF_TRY(listener.missed());
        if (missed != missed_)
            check(output_.missed(missed - missed_));
        missed_ = missed;
        return {};
    }

    const TraceOptions &options_;
    TraceOutput &output_;
    const Signals &signals_;
    std::optional<Clock::time_point> end_;
    std::uint64_t missed_ = 0;
    int error_ = 0; ///< of the first write that failed
};

} // namespace

Result<void> trace(const TraceOptions &options, TraceOutput &output) {
    OLAF_TRY(require_privileges("listen to the queue of", options.device));
    const auto attachment = OLAF_TRY(kernel_attachment(options.device, "events"));
    const auto signals = OLAF_TRY(Signals::hold({SIGINT, SIGTERM, SIGHUP}));
    for (const auto &doubt : doubts(options.filter, attachment.record.config.max_clusters))
        note("olaf: " + doubt);
    OLAF_TRY(output.begin(attachment));
    Trace trace(options, output, signals);
    const auto listener =
        OLAF_TRY(Listener::start(attachment, interest_of(options, output.frame_bytes()),
                                 [&trace](const Event &event) { return trace.take(event); }));
    return trace.run(*listener);
}

} // namespace olaf
