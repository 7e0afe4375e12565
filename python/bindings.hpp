// SPDX-License-Identifier: BSD-2-Clause
// The parts of the module `olaf`, in the order in which they depend on each other.
#pragma once

#include <pybind11/pybind11.h>

namespace olaf::python {

void bind_codec(pybind11::module_ &module);
void bind_collective_records(pybind11::module_ &module);
void bind_collective(pybind11::module_ &module);
void bind_round_server(pybind11::module_ &module);
void bind_transmission(pybind11::module_ &module);
void bind_feedback(pybind11::module_ &module);
void bind_worker(pybind11::module_ &module);
void bind_rules(pybind11::module_ &module);
void bind_snapshots(pybind11::module_ &module);
void bind_server(pybind11::module_ &module);

} // namespace olaf::python
