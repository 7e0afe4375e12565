// SPDX-License-Identifier: BSD-2-Clause
#include "signals.hpp"

#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace olaf {

Result<Signals> Signals::hold(std::initializer_list<int> signals) {
    ::signal(SIGPIPE, SIG_IGN);
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : signals)
        sigaddset(&set, signal);
    if (::pthread_sigmask(SIG_BLOCK, &set, nullptr) != 0)
        return fail("hold back", "signals", errno);
    Fd fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!fd)
        return fail("wait for", "signals", errno);
    return Signals(std::move(fd));
}

int Signals::take() const {
    signalfd_siginfo info{};
    return ::read(fd_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)
               ? static_cast<int>(info.ssi_signo)
               : 0;
}

} // namespace olaf
