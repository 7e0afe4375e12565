// SPDX-License-Identifier: BSD-2-Clause
#include <olaf/worker.hpp>

#include <pybind11/stl.h>

#include <olaf/try.hpp>

#include "arrays.hpp"
#include "bindings.hpp"
#include "errors.hpp"
#include "gil.hpp"
#include "guarded.hpp"
#include "record.hpp"
#include "transmission.hpp"
#include "waiting.hpp"

namespace py = pybind11;

namespace olaf::python {
namespace {

using Clock = std::chrono::steady_clock;

// How long an answer to join() is waited for before it is asked again.
constexpr auto kAskAgain = std::chrono::milliseconds(200);

struct WorkerHandle : Guarded<Worker> {
    WorkerHandle(Worker worker, std::string name)
        : Guarded(std::move(worker)), model(std::move(name)) {}
    const std::string model; // in errors: "of cluster 3 from 192.0.2.1:6523"
};

std::unique_ptr<WorkerHandle> make_worker(const std::string &server, std::uint32_t cluster,
                                          std::uint32_t worker, std::size_t elements,
                                          const Packing &codec, std::size_t mtu, bool checksum,
                                          const py::object &transmission, const py::object &random,
                                          std::optional<std::uint32_t> staleness_bound,
                                          bool stochastic_rounding, bool error_feedback,
                                          std::optional<std::uint64_t> rounding_seed) {
    WorkerOptions options = {.cluster = cluster,
                             .worker = worker,
                             .elements = elements,
                             .packing = codec,
                             .rounding = {.stochastic = stochastic_rounding,
                                          .error_feedback = error_feedback,
                                          .seed = rounding_seed},
                             .mtu = mtu,
                             .checksum = checksum,
                             .send_rule = send_rule_from(transmission),
                             .random = random_from(random),
                             .staleness_bound = staleness_bound};
    auto made = [&]() -> Result<Worker> {
        const GilReleased released; // a name is looked up
        options.server = OLAF_TRY(Address::parse(server));
        return Worker::make(options);
    }();
    return std::make_unique<WorkerHandle>(value_of(std::move(made)),
                                          "of cluster " + std::to_string(cluster) + " from " +
                                              options.server.text());
}

// (weights, version): the weights are a view of the worker's own.
py::object model_of(const py::object &self) {
    auto &handle = self.cast<WorkerHandle &>();
    const auto version = handle.locked([](Worker &worker) { return worker.model_version(); });
    return py::make_tuple(read_only_view(handle.constant().weights(), self), version);
}

bool changes_before(WorkerHandle &handle, const Deadline &deadline) {
    for (;;) {
        if (value_of(handle.locked([](Worker &worker) { return worker.poll(); })))
            return true;
        if (!wait_readable(handle.constant().fd(), deadline))
            return false;
    }
}

py::object poll(const py::object &self) {
    auto &handle = self.cast<WorkerHandle &>();
    const bool changed = value_of(handle.locked([](Worker &worker) { return worker.poll(); }));
    return changed ? model_of(self) : py::none();
}

py::object wait(const py::object &self, std::optional<double> timeout) {
    return changes_before(self.cast<WorkerHandle &>(), deadline_in(timeout)) ? model_of(self)
                                                                             : py::none();
}

py::object join(const py::object &self, std::optional<double> timeout) {
    auto &handle = self.cast<WorkerHandle &>();
    const Deadline deadline = deadline_in(timeout);
    const auto has_weights = [&] {
        return handle.locked([](Worker &worker) { return worker.has_weights(); });
    };
    while (!has_weights()) {
        value_of(handle.locked([](Worker &worker) { return worker.join(); }));
        const auto again = Clock::now() + kAskAgain;
        while (!has_weights() &&
               changes_before(handle, deadline ? std::min(again, *deadline) : again)) {
            // one of several segments
        }
        if (deadline && Clock::now() >= *deadline && !has_weights()) {
            const auto mtu = handle.locked([](Worker &worker) { return worker.report().way_mtu; });
            const std::string way = mtu == 0
                                        ? ""
                                        : "; the way carries " + std::to_string(mtu) +
                                              " bytes: Worker(mtu=" + std::to_string(mtu) +
                                              "), ParameterServer(mtu=" + std::to_string(mtu) + ")";
            PyErr_Format(PyExc_TimeoutError,
                         "cannot get the weights %s: no answer in time; is the parameter server "
                         "running there, does it serve this cluster, is its model as large, and "
                         "does its mtu fit the way?%s",
                         handle.model.c_str(), way.c_str());
            throw py::error_already_set();
        }
    }
    return model_of(self);
}

PushReport push(WorkerHandle &handle, const py::object &gradient, double reward,
                std::optional<std::uint32_t> model_version,
                std::optional<std::int64_t> generated_ns) {
    const Floats floats = as_floats(gradient, "the gradient");
    const auto elements = elements_of(floats);
    return value_of(handle.locked([&](Worker &worker) {
        return worker.push(elements, reward, model_version.value_or(worker.model_version()),
                           generated_ns);
    }));
}

// A getter of what the worker knows, by value.
template <auto member> auto get(WorkerHandle &handle) {
    return handle.locked([](Worker &worker) {
        return std::decay_t<decltype((worker.*member)())>((worker.*member)());
    });
}

const char *outcome(const PushReport &report) {
    switch (report.outcome) {
    case PushOutcome::held:
        return "held";
    case PushOutcome::too_stale:
        return "too_stale";
    default:
        return "sent";
    }
}

void bind_push_report(py::module_ &module) {
    const auto is = [](PushOutcome outcome) {
        return [outcome](const PushReport &report) { return report.outcome == outcome; };
    };
    Record<PushReport>(module, "PushReport", "What became of one update. True if it was sent.")
        .field("outcome", outcome, "'sent', 'held' or 'too_stale'.")
        .field("sequence", &PushReport::sequence, "0 if not sent.")
        .field("segments", &PushReport::segments, "Messages handed to the kernel.")
        .field("unsent", &PushReport::unsent, "Messages lost on this host.")
        .field(
            "clipped", [](const PushReport &report) { return report.packing.clipped; },
            "Elements beyond the codec's limit.")
        .field(
            "nans", [](const PushReport &report) { return report.packing.nans; },
            "NaN elements, sent as 0.")
        .field("way_mtu", &PushReport::way_mtu, "WorkerReport.way_mtu when it was sent.")
        .done()
        .def_property_readonly("held", is(PushOutcome::held),
                               "Held back by transmission control: train on, push a newer one.")
        .def("__bool__", is(PushOutcome::sent));
}

void bind_counters(py::module_ &module) {
    Record<WorkerStats>(module, "WorkerStats", "Counters of a worker.")
        .field("updates", &WorkerStats::updates, "Sent.")
        .field("held", &WorkerStats::held, "Not sent, by transmission control.")
        .field("too_stale", &WorkerStats::too_stale, "Not sent, by the staleness bound.")
        .field("messages", &WorkerStats::messages, "Handed to the kernel.")
        .field("unsent", &WorkerStats::unsent, "Lost on this host.")
        .field("clipped", &WorkerStats::clipped, "Elements beyond the codec's limit.")
        .field("nans", &WorkerStats::nans, "NaN elements, sent as 0.")
        .field("largest", &WorkerStats::largest, "Magnitude of the largest element sent.")
        .field("acks", &WorkerStats::acks, "Accepted.")
        .field("stale", &WorkerStats::stale, "Of those, with weights older than the ones held.")
        .field(
            "rejected", [](const WorkerStats &stats) { return rejects_dict(stats.rejected); },
            "Messages not accepted, by reason.")
        .done();
}

// What a worker learns: results of a push, feedback, report, counters.
void bind_worker_records(py::module_ &module) {
    bind_push_report(module);
    Record<Feedback>(module, "Feedback", "What the network said on the way back.")
        .field("stamped", &Feedback::stamped, "The newest ACK carried queue state.")
        .field("congested", &Feedback::congested, "More active clusters than places.")
        .field("active_clusters", &Feedback::active_clusters, "N of the newest stamped ACK.")
        .field("queue_capacity", &Feedback::queue_capacity, "Qmax.")
        .field("queue_length", &Feedback::queue_length, "Qn.")
        .field("stamped_ns", &Feedback::stamped_ns, "CLOCK_TAI when it came.")
        .field("sequence", &Feedback::sequence, "Of the update that the newest ACK answers.")
        .field("generated_ns", &Feedback::generated_ns, "When that was computed, CLOCK_TAI.")
        .field("received_ns", &Feedback::received_ns, "CLOCK_TAI; 0 if no ACK came.")
        .done();
    Record<WorkerReport>(module, "WorkerReport", "How a worker's updates fare.")
        .field("version_lag", &WorkerReport::version_lag,
               "Versions that the model had gone on when the last answered update was applied.")
        .field("update_age_ns", &WorkerReport::update_age_ns, "From computing it to its ACK.")
        .field("round_trip_ns", &WorkerReport::round_trip_ns, "From push() to its ACK.")
        .field("smoothed_round_trip_ns", &WorkerReport::smoothed_round_trip_ns, "As TCP does it.")
        .field("least_round_trip_ns", &WorkerReport::least_round_trip_ns, "So far.")
        .field("answered", &WorkerReport::answered, "Updates whose own ACK came.")
        .field("unanswered", &WorkerReport::unanswered,
               "Passed over: lost, folded into another's, or their ACK lost.")
        .field("acks_lost", &WorkerReport::acks_lost,
               "At least; counted where ACKs go to the whole cluster.")
        .field("way_mtu", &WorkerReport::way_mtu,
               "What the way carries, if a router called messages too long, else 0: give it as "
               "mtu to Worker and ParameterServer.")
        .done();
    bind_counters(module);
}

} // namespace

void bind_worker(py::module_ &module) {
    bind_worker_records(module);
    py::class_<WorkerHandle>(
        module, "Worker",
        "A worker's end: sends gradients, receives weights. Any thread may call it. "
        "Nothing is sent twice: loss is normal.")
        .def(py::init(&make_worker), py::arg("server"), py::arg("cluster"), py::arg("worker"),
             py::arg("elements"), py::kw_only(), py::arg_v("codec", Packing{}, kDefaultCodec),
             py::arg("mtu") = 1500, py::arg("checksum") = true,
             py::arg("transmission") = py::none(), py::arg("random") = py::none(),
             py::arg("staleness_bound") = py::none(), py::arg("stochastic_rounding") = false,
             py::arg("error_feedback") = false, py::arg("rounding_seed") = py::none())
        .def("join", &join, py::arg("timeout") = 10.0,
             "Asks the server for weights until they come: (weights, version). TimeoutError.")
        .def("push", &push, py::arg("gradient"), py::arg("reward") = 0.0,
             py::arg("model_version") = py::none(), py::arg("generated_ns") = py::none(),
             "Sends one update, unless it is held back. model_version is that of the weights it "
             "was computed on, by default of the newest; generated_ns when, by default now.")
        .def("should_send", &get<&Worker::should_send>,
             "Whether transmission control lets the next push() send; ask once an update.")
        .def("poll", &poll,
             "Takes in what has arrived: (weights, version) if they changed, or None.")
        .def("wait", &wait, py::arg("timeout") = py::none(),
             "Waits, at most timeout seconds, until weights change: (weights, version) or None.")
        .def_property_readonly(
            "weights",
            [](const py::object &self) {
                return read_only_view(self.cast<WorkerHandle &>().constant().weights(), self);
            },
            "The newest, read-only: a view that changes with the next poll() or wait().")
        .def_property_readonly("has_weights", &get<&Worker::has_weights>,
                               "Whether all of them have come at least once.")
        .def_property_readonly("model_version", &get<&Worker::model_version>, "Of the weights.")
        .def_property_readonly("feedback", &get<&Worker::feedback>, "Of the newest ACKs.")
        .def_property_readonly("report", &get<&Worker::report>, "How the updates fare.")
        .def_property_readonly("stats", &get<&Worker::stats>, "Counters.")
        .def(
            "fileno", [](WorkerHandle &handle) { return handle.constant().fd(); },
            "For select(), asyncio and the like: readable when poll() has something to do.");
}

} // namespace olaf::python
