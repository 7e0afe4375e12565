// SPDX-License-Identifier: BSD-2-Clause
// The parts of the module `olaf`, in the order in which they depend on each other.
#pragma once

#include <pybind11/pybind11.h>

namespace olaf::python {

/// How a default Codec() is written in signatures. It is libolaf's Packing, valid by construction.
inline constexpr const char *kDefaultCodec = "Codec()";

void bind_codec(pybind11::module_ &module);
void bind_collective(pybind11::module_ &module);
void bind_round_server(pybind11::module_ &module);
void bind_transmission(pybind11::module_ &module);
void bind_worker(pybind11::module_ &module);
void bind_server(pybind11::module_ &module);

} // namespace olaf::python
