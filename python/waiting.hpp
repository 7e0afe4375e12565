// SPDX-License-Identifier: BSD-2-Clause
// Waiting as Python expects it: other threads run, and Ctrl-C gets through.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

namespace olaf::python {

using Deadline = std::optional<std::chrono::steady_clock::time_point>; ///< none: for ever

/// `seconds` from now; none if `seconds` is none or beyond any clock. A ValueError if they
/// aren't a number of seconds.
Deadline deadline_in(std::optional<double> seconds);

/// Waits with the GIL released until `fd` can be read (true) or the time is over (false). A
/// pending signal's Python handler runs, and what it raises, KeyboardInterrupt by
/// default, is thrown. Call with the GIL held and no lock.
bool wait_readable(int fd, const Deadline &deadline);

/// Whether a call that waits is to end. In the main thread: a signal's Python handler has raised.
/// In others, which run no handlers: SIGINT has come since watch_interrupts(). To be called without
/// the GIL.
bool is_interrupted();
/// Where CPython writes the number of each signal that comes (signal.set_wakeup_fd()), without
/// blocking; -1: nowhere. For threads that wait for what the main thread waits for, in a function
/// that runs no handlers meanwhile. Until the next call they are interrupted once SIGINT has come.
void watch_interrupts(int fd);
/// Throws what the handler has raised.
void throw_if_interrupted();

/// Calls receive_before(server, deadline) until server.stop is set, which is noticed within 0.1 s,
/// or for `seconds`.
template <class Server> void serve(Server &server, std::optional<double> seconds) {
    using Clock = std::chrono::steady_clock;
    const Deadline end = deadline_in(seconds);
    server.stop = false;
    while (!server.stop && (!end || Clock::now() < *end)) {
        const auto notice = Clock::now() + std::chrono::milliseconds(100);
        receive_before(server, end ? std::min(notice, *end) : notice);
    }
}

} // namespace olaf::python
