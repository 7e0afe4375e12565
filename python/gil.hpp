// SPDX-License-Identifier: BSD-2-Clause
// The GIL, for threads that may outlive the interpreter. When it ends, a daemon thread that wants
// the GIL never gets it. Until Python 3.13 CPython unwinds that thread's stack then, which C++
// frames end with an abort of the process. Here the thread sleeps until the process has ended, as
// CPython's own do from 3.14 on.
#pragma once

#include <cxxabi.h>
#include <unistd.h>

#include <pybind11/pybind11.h>

namespace olaf::python {

/// Calls a function that takes the GIL.
template <class Take> auto or_sleep_for_good(Take take) {
    try {
        return take();
    } catch (abi::__forced_unwind &) {
        for (;;)
            ::pause();
    }
}

/// Without the GIL until the end of the scope. To be made with it.
class GilReleased {
  public:
    GilReleased() : state_(PyEval_SaveThread()) {}
    GilReleased(const GilReleased &) = delete;
    GilReleased &operator=(const GilReleased &) = delete;
    ~GilReleased() {
        or_sleep_for_good([this] { PyEval_RestoreThread(state_); });
    }

  private:
    PyThreadState *state_;
};

/// With the GIL until the end of the scope. For any thread, whether it has the GIL or not.
class GilHeld {
  public:
    GilHeld() : state_(or_sleep_for_good([] { return PyGILState_Ensure(); })) {}
    GilHeld(const GilHeld &) = delete;
    GilHeld &operator=(const GilHeld &) = delete;
    ~GilHeld() { PyGILState_Release(state_); }

  private:
    PyGILState_STATE state_;
};

} // namespace olaf::python
