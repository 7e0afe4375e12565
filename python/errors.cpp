// SPDX-License-Identifier: BSD-2-Clause
#include "errors.hpp"

#include <pybind11/pybind11.h>

namespace py = pybind11;

namespace olaf::python {

void raise(const Error &error) {
    if (error.code == 0)
        throw py::value_error(error.message());
    // Made of an errno, OSError becomes PermissionError and so on by itself.
    PyErr_SetObject(PyExc_OSError, py::make_tuple(error.code, error.message()).ptr());
    throw py::error_already_set();
}

} // namespace olaf::python
