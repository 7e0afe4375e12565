// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <memory>

#include <pybind11/pybind11.h>

#include <olaf/transmission_control.hpp>

namespace olaf::python {

/// A Python function that C++ may copy and destroy on any thread, without the GIL.
using SharedFunction = std::shared_ptr<const pybind11::function>;
/// A TypeError that says `expected` if the object can't be called.
SharedFunction share(const pybind11::object &function, const char *expected);

/// None, a TransmissionControl, or a function from QueueState to a probability.
SendRule send_rule_from(const pybind11::object &object);
/// None, a seed, or a function that returns numbers in [0, 1).
UniformRandom random_from(const pybind11::object &object);

} // namespace olaf::python
