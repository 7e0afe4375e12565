// SPDX-License-Identifier: BSD-2-Clause
#include "signals.hpp"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>

#include "clock.hpp"

namespace olaf {

Result<Signals> Signals::hold(std::initializer_list<int> signals) {
    sigset_t set, before;
    sigemptyset(&set);
    for (const int signal : signals)
        sigaddset(&set, signal);
    Fd fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!fd)
        return fail("wait for", "signals", errno);
    if (const int error = ::pthread_sigmask(SIG_BLOCK, &set, &before); error != 0)
        return fail("hold back", "signals", error);
    return Signals(std::move(fd), before);
}

Signals::~Signals() {
    if (!fd_)
        return;
    while (take() != 0) {
    }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

int Signals::take() const {
    signalfd_siginfo info{};
    return ::read(fd_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)
               ? static_cast<int>(info.ssi_signo)
               : 0;
}

Result<bool> Signals::until(std::uint64_t deadline_ns) const {
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
            return fail("wait for", "a signal", errno);
        if (ready > 0)
            return true;
    }
}

} // namespace olaf
