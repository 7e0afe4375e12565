// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <chrono>
#include <mutex>
#include <stdexcept>
#include <utility>

#include <sys/types.h>
#include <unistd.h>

#include <pybind11/pybind11.h>

#include "gil.hpp"
#include "waiting.hpp"

namespace olaf::python {

/// One end of libolaf, which isn't thread-safe, for Python, whose threads may share it: a call
/// has the lock, and not the GIL, so that the others run on meanwhile. The lock is never
/// waited for with the GIL held: a function of the user's that runs under the lock needs
/// the GIL. It is recursive, for what that function calls. While a call waits for it Ctrl-C gets
/// through. In a process that was forked while another thread had it, it is never free: that is
/// an error.
template <class End> class Guarded {
  public:
    explicit Guarded(End end) : end_(std::move(end)) {}

    /// Calls with the lock and without the GIL; to be called with the GIL held.
    template <class Call> auto locked(Call call) {
        const GilReleased released;
        const auto lock = lock_here();
        return call(end_);
    }
    /// The same for a call that sleeps, and gives the lock up meanwhile.
    template <class Call> auto locked_but_asleep(Call call) {
        const GilReleased released;
        auto lock = lock_here();
        return call(end_, lock);
    }
    /// For what needs no lock, being constant.
    const End &constant() const { return end_; }

  private:
    std::unique_lock<std::recursive_timed_mutex> lock_here() {
        std::unique_lock lock(mutex_, std::try_to_lock);
        while (!lock && !lock.try_lock_for(std::chrono::milliseconds(100))) {
            if (::getpid() != process_)
                throw std::runtime_error("another thread used this in process " +
                                         std::to_string(process_) +
                                         ", from which this one was forked: make one here");
            throw_if_interrupted();
        }
        return lock;
    }

    End end_;
    std::recursive_timed_mutex mutex_;
    const pid_t process_ = ::getpid();
};

} // namespace olaf::python
