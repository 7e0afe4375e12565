// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <mutex>
#include <utility>

#include <pybind11/pybind11.h>

namespace olaf::python {

/// One end of libolaf, which isn't thread-safe, for Python, whose threads may share it: a call
/// has the lock, and not the GIL, so that the others run on meanwhile. The lock is never
/// waited for with the GIL held: a function of the user's that runs under the lock needs
/// the GIL. It is recursive, for what that function calls.
template <class End> class Guarded {
  public:
    explicit Guarded(End end) : end_(std::move(end)) {}

    /// Calls with the lock and without the GIL; to be called with the GIL held.
    template <class Call> auto locked(Call call) {
        const pybind11::gil_scoped_release released;
        const std::scoped_lock lock(mutex_);
        return call(end_);
    }
    /// The same for a call that sleeps, and gives the lock up meanwhile.
    template <class Call> auto locked_but_asleep(Call call) {
        const pybind11::gil_scoped_release released;
        std::unique_lock lock(mutex_);
        return call(end_, lock);
    }
    /// For what needs no lock, being constant.
    const End &constant() const { return end_; }

  private:
    End end_;
    std::recursive_mutex mutex_;
};

} // namespace olaf::python
