// SPDX-License-Identifier: BSD-2-Clause
#include "waiting.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <csignal>

#include <poll.h>
#include <unistd.h>

#include <pybind11/pybind11.h>

#include "errors.hpp"
#include "gil.hpp"

namespace py = pybind11;

namespace olaf::python {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::nanoseconds;

// A signal that comes just before ppoll() doesn't interrupt it: it is seen this much later.
constexpr nanoseconds kSlice = std::chrono::seconds(1);
constexpr double kLongest = 1e9; // seconds; nanoseconds have room for nine times that

std::atomic<int> signals_fd = -1;
std::atomic<bool> sigint_came = false;

bool sigint_has_come() {
    unsigned char number = 0;
    while (signals_fd >= 0 && ::read(signals_fd, &number, sizeof number) > 0)
        if (number == SIGINT)
            sigint_came = true;
    return sigint_came;
}

} // namespace

Deadline deadline_in(std::optional<double> seconds) {
    if (!seconds || *seconds > kLongest)
        return std::nullopt;
    if (std::isnan(*seconds) || *seconds < 0)
        throw py::value_error("a timeout is a number of seconds, 0 or more, or None to wait for "
                              "ever; not " +
                              std::to_string(*seconds));
    return Clock::now() +
           std::chrono::duration_cast<nanoseconds>(std::chrono::duration<double>(*seconds));
}

bool is_interrupted() {
    if (::gettid() != ::getpid())
        return sigint_has_come();
    const GilHeld held;
    return PyErr_CheckSignals() != 0;
}

void watch_interrupts(int fd) {
    signals_fd = fd;
    static_cast<void>(sigint_has_come());
    sigint_came = false;
}

void throw_if_interrupted() {
    if (!is_interrupted())
        return;
    const GilHeld held;
    throw py::error_already_set();
}

bool wait_readable(int fd, const Deadline &deadline) {
    for (;;) {
        const auto now = Clock::now();
        const nanoseconds left = deadline ? std::max(nanoseconds(0), *deadline - now) : kSlice;
        const nanoseconds slice = std::min(left, kSlice);
        const timespec limit = {.tv_sec = static_cast<time_t>(slice / std::chrono::seconds(1)),
                                .tv_nsec = (slice % std::chrono::seconds(1)).count()};
        pollfd poll = {.fd = fd, .events = POLLIN, .revents = 0};
        int ready = 0;
        int code = 0;
        {
            const GilReleased released;
            ready = ppoll(&poll, 1, &limit, nullptr);
            code = errno;
        }
        if (PyErr_CheckSignals() != 0)
            throw py::error_already_set();
        if (ready > 0)
            return true;
        if (ready < 0 && code != EINTR)
            value_of(Result<void>(fail("wait for socket", {}, code)));
        if (left <= slice && deadline && Clock::now() >= *deadline)
            return false;
    }
}

} // namespace olaf::python
