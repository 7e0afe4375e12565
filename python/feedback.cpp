// SPDX-License-Identifier: BSD-2-Clause
// What a worker learns: results of a push, feedback, report, counters.
#include <olaf/worker.hpp>

#include "bindings.hpp"
#include "record.hpp"

namespace py = pybind11;

namespace olaf::python {
namespace {

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

} // namespace

void bind_feedback(py::module_ &module) {
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
        .done();
    bind_counters(module);
}

} // namespace olaf::python
