// SPDX-License-Identifier: BSD-2-Clause
// NumPy arrays and what can pass for one. Call with the GIL held.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include <pybind11/numpy.h>

namespace olaf::python {

using Floats = pybind11::array_t<float, pybind11::array::c_style>;
using Lanes = pybind11::array_t<std::uint64_t, pybind11::array::c_style>;

/// An object as contiguous float32. Not copied if it holds that already and shares its
/// memory: a NumPy array, a torch tensor on the CPU, whatever has the buffer protocol,
/// __array__ or __dlpack__. Other real numbers are converted, anything else is a TypeError
/// that names `what`.
Floats as_floats(const pybind11::object &object, const std::string &what);

/// The elements, of whatever shape. Valid as long as the array.
std::span<const float> elements_of(const Floats &array);

/// An array over memory that `owner` keeps alive. Not a copy: it shows what is there later, too.
Floats read_only_view(std::span<const float> memory, const pybind11::object &owner);
Floats writable_view(std::span<float> memory, const pybind11::object &owner);

} // namespace olaf::python
