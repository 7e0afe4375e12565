// SPDX-License-Identifier: BSD-2-Clause
#include "bindings.hpp"
#include "waiting.hpp"

#include <olaf/clock.hpp>
#include <olaf/protocol.h>

PYBIND11_MODULE(_olaf, module) {
    module.attr("__version__") = OLAF_VERSION_TEXT;
    module.attr("DEFAULT_PORT") = OLAF_DEFAULT_PORT;
    module.attr("EVERY_WORKER") = OLAF_EVERY_WORKER;
    module.def("tai_now_ns", &olaf::tai_now_ns,
               "CLOCK_TAI in nanoseconds, the clock of every generated_ns.");
    module.def("_watch_interrupts", &olaf::python::watch_interrupts, "For olaf.torch.");
    olaf::python::bind_codec(module);
    olaf::python::bind_collective(module);
    olaf::python::bind_round_server(module);
    olaf::python::bind_transmission(module);
    olaf::python::bind_worker(module);
    olaf::python::bind_server(module);
}
