// SPDX-License-Identifier: BSD-2-Clause
#include "until.hpp"

#include <poll.h>
#include <sys/signalfd.h>

#include <cerrno>
#include <csignal>

#include "clock.hpp"

namespace olaf {

Result<Interrupts> Interrupts::catch_them() {
    sigset_t signals;
    ::sigemptyset(&signals);
    ::sigaddset(&signals, SIGINT);
    ::sigaddset(&signals, SIGTERM);
    if (::sigprocmask(SIG_BLOCK, &signals, nullptr) != 0)
        return fail("block", "SIGINT and SIGTERM", errno);
    Fd fd(::signalfd(-1, &signals, SFD_CLOEXEC));
    if (!fd)
        return fail("wait for", "SIGINT and SIGTERM", errno);
    return Interrupts(std::move(fd));
}

Result<bool> Interrupts::until(std::uint64_t deadline_ns) const {
    for (;;) {
        const auto now = monotonic_ns();
        if (now >= deadline_ns)
            return false;
        const auto left = deadline_ns - now;
        const timespec time{.tv_sec = static_cast<time_t>(left / 1'000'000'000),
                            .tv_nsec = static_cast<long>(left % 1'000'000'000)};
        pollfd wanted{.fd = fd_.get(), .events = POLLIN, .revents = 0};
        const int ready = ::ppoll(&wanted, 1, &time, nullptr);
        if (ready < 0 && errno != EINTR)
            return fail("wait for", "SIGINT and SIGTERM", errno);
        if (ready > 0)
            return true;
    }
}

} // namespace olaf
