// SPDX-License-Identifier: BSD-2-Clause
#include <olaf/round_server.hpp>

#include <atomic>
#include <optional>
#include <string>

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <olaf/try.hpp>

#include "arrays.hpp"
#include "bindings.hpp"
#include "errors.hpp"
#include "gil.hpp"
#include "guarded.hpp"
#include "record.hpp"
#include "round_format.hpp"
#include "transmission.hpp"
#include "waiting.hpp"

namespace py = pybind11;

namespace olaf::python {
namespace {

struct RoundServerHandle : Guarded<RoundServer> {
    explicit RoundServerHandle(RoundServer server) : Guarded(std::move(server)) {}
    std::atomic<bool> stop = false;
};

/// A sum as a rule in Python sees it. Its arrays are views of the server's memory.
struct Sum {
    RoundSum sum;
    Floats gradient;
    Floats weights;
};

// `sum.weights += step` ends with an assignment of the same array.
void set_sum_weights(Sum &sum, const py::object &weights) {
    if (!weights.is(sum.weights))
        py::module_::import("numpy").attr("copyto")(sum.weights, weights);
}

// What the function raises passes through RoundServer::receive() as an error_already_set. The
// handle owns the rule, so it is there when the rule runs.
RoundRule rule_from(const py::function &function, std::shared_ptr<RoundServerHandle *> handle) {
    return [held = share(function, "a rule is a function"), handle](const RoundSum &sum,
                                                                    std::span<float> weights) {
        const GilHeld gil;
        const py::object self = py::cast(*handle, py::return_value_policy::reference);
        (*held)(Sum{sum, read_only_view(sum.sum, self), writable_view(weights, self)});
    };
}

std::unique_ptr<RoundServerHandle>
make_round_server(const std::string &bind, std::uint32_t job, const py::object &weights,
                  const py::function &rule, std::uint32_t workers, std::uint16_t lanes,
                  std::uint32_t children, const std::string &format, bool checksum,
                  std::uint32_t ahead, std::uint8_t pool, const std::optional<std::string> &run,
                  std::uint64_t run_number) {
    const Floats floats = as_floats(weights, "the weights");
    const auto elements = elements_of(floats);
    RoundServerOptions options = {.job = job,
                                  .children = children,
                                  .workers = workers,
                                  .format = round_format(format),
                                  .checksum = checksum,
                                  .lanes = lanes,
                                  .ahead = ahead,
                                  .pool = pool,
                                  .run = run.value_or(""),
                                  .run_number = run_number};
    std::vector<float> begin(elements.begin(), elements.end());
    const auto self = std::make_shared<RoundServerHandle *>(nullptr);
    RoundRule calls = rule_from(rule, self);
    auto made = [&]() -> Result<RoundServer> {
        const GilReleased released; // a name is looked up
        options.bind = OLAF_TRY(Address::parse(bind));
        return RoundServer::make(options, std::move(begin), std::move(calls));
    }();
    auto handle = std::make_unique<RoundServerHandle>(value_of(std::move(made)));
    *self = handle.get();
    return handle;
}

std::size_t receive_before(RoundServerHandle &handle, const Deadline &deadline) {
    if (!wait_readable(handle.constant().fd(), deadline))
        return 0;
    return value_of(handle.locked(
        [](RoundServer &server) { return server.receive(std::chrono::nanoseconds(0)); }));
}

void bind_round_records(py::module_ &module) {
    Record<RoundServerStats>(module, "RoundServerStats", "Counters of a RoundServer.")
        .field("received", &RoundServerStats::received, "Contributions to a sum.")
        .field("repeated", &RoundServerStats::repeated, "Of those: in it already.")
        .field("stale", &RoundServerStats::stale, "Of those: no longer possible.")
        .field("answered", &RoundServerStats::answered, "Chunks that got an answer.")
        .field("again", &RoundServerStats::again, "Chunks summed anew, with the same answer.")
        .field("agreed", &RoundServerStats::agreed, "How often all agreed on where to begin.")
        .field("unsent", &RoundServerStats::unsent, "Messages lost on this host.")
        .field("not_finite", &RoundServerStats::not_finite,
               "Elements whose sum isn't finite; the rule didn't see them.")
        .field("clipped", &RoundServerStats::clipped,
               "Weights that grew too much at once to be sent as they are.")
        .field(
            "rejected", [](const RoundServerStats &self) { return rejects_dict(self.rejected); },
            "Messages not accepted, by reason.")
        .done();
    py::class_<Sum>(module, "RoundSum",
                    "The sum of some elements over all workers, for a rule, while it runs.")
        .def_property_readonly(
            "gradient", [](const Sum &self) { return self.gradient; },
            "The sum of the workers' vectors: float32, read-only.")
        .def_property(
            "weights", [](const Sum &self) { return self.weights; }, &set_sum_weights,
            "These elements' weights: float32, to be changed in place.")
        .def_property_readonly(
            "begin", [](const Sum &self) { return self.sum.begin; },
            "The first of these elements, in the model.")
        .def_property_readonly(
            "end", [](const Sum &self) { return self.sum.begin + self.sum.sum.size(); },
            "What follows the last one.")
        .def_property_readonly(
            "round", [](const Sum &self) { return self.sum.round; }, "The round.")
        .def_property_readonly(
            "count", [](const Sum &self) { return self.sum.count; }, "Workers in it.")
        .def_property_readonly(
            "partial", [](const Sum &self) { return self.sum.partial; },
            "Whether some worker is missing (a node's threshold or deadline).");
}

} // namespace

void bind_round_server(py::module_ &module) {
    bind_round_records(module);
    py::class_<RoundServerHandle>(
        module, "RoundServer",
        "A parameter server as the root of a job: rule(sum) changes sum.weights, and "
        "Collective.allreduce() puts them in place of each worker's float32 vector.")
        .def(py::init(&make_round_server), py::arg("bind"), py::arg("job"), py::arg("weights"),
             py::arg("rule"), py::arg("workers"), py::arg("lanes"), py::kw_only(),
             py::arg("children") = 1, py::arg("format") = "i32x2", py::arg("checksum") = true,
             py::arg("ahead") = 64, py::arg("pool") = 6, py::arg("run") = py::none(),
             py::arg("run_number") = 0,
             "'run' and 'run_number': those of the workers that it serves; without a name, one "
             "training after the other, and without a number any start of that training.")
        .def(
            "receive",
            [](RoundServerHandle &handle, std::optional<double> timeout) {
                return receive_before(handle, deadline_in(timeout));
            },
            py::arg("timeout") = py::none(),
            "Waits for messages and handles those that are there: how many; 0 if the time was "
            "over.")
        .def("serve", &serve<RoundServerHandle>, py::arg("seconds") = py::none(),
             "Handles messages until stop(), Ctrl-C, or the time is over.")
        .def(
            "stop", [](RoundServerHandle &handle) { handle.stop = true; },
            "Ends serve() in another thread, within 0.1 s.")
        .def_property_readonly(
            "address",
            [](RoundServerHandle &handle) {
                return value_of(handle.constant().local_address()).text();
            },
            "Where it listens.")
        .def_property_readonly(
            "weights",
            [](RoundServerHandle &handle) {
                return handle.locked([](RoundServer &server) {
                    const auto weights = server.weights();
                    return std::vector<float>(weights.begin(), weights.end());
                });
            },
            "A copy of the weights: a list.")
        .def_property_readonly(
            "stats",
            [](RoundServerHandle &handle) {
                return handle.locked([](RoundServer &server) { return server.stats(); });
            },
            "Counters.")
        .def(
            "fileno", [](RoundServerHandle &handle) { return handle.constant().fd(); },
            "For select(), asyncio and the like: readable when receive() has something to do.");
}

} // namespace olaf::python
