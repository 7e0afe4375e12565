// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <memory>

#include <olaf/parameter_server.hpp>

#include "arrays.hpp"

namespace olaf::python {

/// An update as Python sees it. Its arrays are views of the server's memory.
struct Update {
    PendingUpdate pending;
    Floats gradient;
    Floats weights;
    bool changed = true;
};

/// Call with the GIL held.
std::shared_ptr<Update> make_update(const PendingUpdate &pending, const pybind11::object &server);

/// 'sgd', 'paper', or a function that gets an Update and changes its weights. What that raises
/// passes through ParameterServer::receive() as an error_already_set. `server()` gives the
/// Python object, under the GIL.
Rule rule_from(const pybind11::object &object, double learning_rate, std::uint32_t cluster,
               std::function<pybind11::object()> server);

} // namespace olaf::python
