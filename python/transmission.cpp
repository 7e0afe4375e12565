// SPDX-License-Identifier: BSD-2-Clause
#include "transmission.hpp"

#include "bindings.hpp"
#include "errors.hpp"
#include "gil.hpp"
#include "record.hpp"

namespace py = pybind11;

namespace olaf::python {
namespace {

std::string text(double number) {
    return py::repr(py::float_(number)).cast<std::string>();
}

std::string describe(const TransmissionControl &self) {
    return "TransmissionControl(threshold=" + text(self.threshold_s()) +
           ", slope=" + text(self.slope()) + ")";
}

} // namespace

SharedFunction share(const py::object &function, const char *expected) {
    if (!PyCallable_Check(function.ptr()))
        throw py::type_error(expected);
    const auto release = [](const py::function *kept) {
        const GilHeld held;
        delete kept;
    };
    return {new py::function(py::reinterpret_borrow<py::function>(function)), release};
}

SendRule send_rule_from(const py::object &object) {
    if (object.is_none())
        return {};
    if (py::isinstance<TransmissionControl>(object))
        return object.cast<TransmissionControl>();
    if (py::isinstance<PauseAfterAck>(object))
        return object.cast<PauseAfterAck>();
    return
        [function = share(object, "transmission is None, a TransmissionControl, or a function "
                                  "from a QueueState to a probability")](const QueueState &state) {
            const GilHeld held;
            return (*function)(state).cast<double>();
        };
}

UniformRandom random_from(const py::object &object) {
    if (object.is_none())
        return {};
    if (py::isinstance<py::int_>(object))
        return uniform_random(object.cast<std::uint64_t>());
    return [function = share(object, "random is None, a seed, or a function that returns numbers "
                                     "from 0 to below 1")] {
        const GilHeld held;
        return (*function)().cast<double>();
    };
}

void bind_transmission(py::module_ &module) {
    Record<QueueState>(module, "QueueState", "What a worker knows of the bottleneck's queue.")
        .field("active_clusters", &QueueState::active_clusters, "N; 0 before any stamped ACK.")
        .field("capacity", &QueueState::capacity, "Qmax.")
        .field("length", &QueueState::length, "Qn.")
        .field("since_ack_s", &QueueState::since_ack_s, "Seconds since the newest ACK.")
        .done()
        .def(py::init([](std::uint32_t active_clusters, std::uint32_t capacity,
                         std::uint32_t length, double since_ack_s) {
                 return QueueState{.active_clusters = active_clusters,
                                   .capacity = capacity,
                                   .length = length,
                                   .since_ack_s = since_ack_s};
             }),
             py::kw_only(), py::arg("active_clusters") = 0, py::arg("capacity") = 0,
             py::arg("length") = 0, py::arg("since_ack_s") = 0.0);

    py::class_<TransmissionControl>(
        module, "TransmissionControl",
        "Sends at will while at most Qmax clusters are active, and otherwise with probability "
        "min(Qmax/N + slope * (t - threshold), 1), t seconds after the last ACK.")
        .def(py::init([](double threshold, double slope) {
                 return value_of(TransmissionControl::with_slope(threshold, slope));
             }),
             py::arg("threshold"), py::arg("slope"))
        .def_static(
            "urgent",
            [](double threshold) { return value_of(TransmissionControl::urgent(threshold)); },
            py::arg("threshold") = 0.4, "slope = 1 / threshold.")
        .def_static(
            "fair", [](double threshold) { return value_of(TransmissionControl::fair(threshold)); },
            py::arg("threshold") = 0.4, "slope = threshold.")
        .def_property_readonly("threshold", &TransmissionControl::threshold_s, "In seconds.")
        .def_property_readonly("slope", &TransmissionControl::slope, "In 1 / seconds.")
        .def("__call__", &TransmissionControl::operator(), py::arg("state"),
             "The probability of sending.")
        .def("__repr__", &describe);

    py::class_<PauseAfterAck>(
        module, "PauseAfterAck",
        "While more than Qmax clusters are active, sends nothing for a while after each ACK. "
        "Choose "
        "somewhat less than the bottleneck takes to serve every cluster once.")
        .def(py::init([](double seconds) { return value_of(PauseAfterAck::make(seconds)); }),
             py::arg("seconds"))
        .def_property_readonly("seconds", &PauseAfterAck::pause_s, "Of the pause.")
        .def("__call__", &PauseAfterAck::operator(), py::arg("state"),
             "The probability of sending: 0 or 1.")
        .def("__repr__", [](const PauseAfterAck &self) {
            return "PauseAfterAck(" + text(self.pause_s()) + ")";
        });
}

} // namespace olaf::python
