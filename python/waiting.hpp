// SPDX-License-Identifier: BSD-2-Clause
// Waiting as Python expects it: other threads run, and Ctrl-C gets through.
#pragma once

#include <algorithm>
#include <atomic>
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

/// Calls receive(deadline) until `stop` is set, which is noticed within 0.1 s, or the time is over.
template <class Receive>
void until_stopped(const std::atomic<bool> &stop, const Deadline &end, const Receive &receive) {
    using Clock = std::chrono::steady_clock;
    while (!stop && (!end || Clock::now() < *end)) {
        const auto notice = Clock::now() + std::chrono::milliseconds(100);
        receive(end ? std::min(notice, *end) : notice);
    }
}

} // namespace olaf::python
