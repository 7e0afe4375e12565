// SPDX-License-Identifier: BSD-2-Clause
#include "snapshot.hpp"

#include <olaf/clock.hpp>
#include <olaf/parameter_server.hpp>

#include "bindings.hpp"
#include "record.hpp"

namespace py = pybind11;

namespace olaf::python {
namespace {

template <auto member> auto of_stats(const Snapshot &snapshot) {
    return snapshot.stats.*member;
}

} // namespace

void Snapshot::take(const Cluster &from) {
    cluster = from.id();
    version = from.version();
    stats = from.stats();
    workers = from.workers().all().size();
    aom_average_ns = from.aom().average_ns(tai_now_ns());
    aom_peak_ns = from.aom().highest_peak_ns();
}

void bind_snapshots(py::module_ &module) {
    Record<Snapshot>(module, "Cluster", "A cluster as it was when asked for.")
        .field("cluster", &Snapshot::cluster, "Its id.")
        .field("version", &Snapshot::version, "Of its weights.")
        .field("messages", of_stats<&ClusterStats::messages>, "Updates received, as messages.")
        .field("folded", of_stats<&ClusterStats::folded>, "Updates in those.")
        .field("applied", of_stats<&ClusterStats::applied>, "Messages that changed the weights.")
        .field("joins", of_stats<&ClusterStats::joins>, "Workers asking for weights.")
        .field("worst_lag", of_stats<&ClusterStats::worst_lag>, "In versions, of an update.")
        .field("workers", &Snapshot::workers, "Heard of.")
        .field("aom_average_ns", &Snapshot::aom_average_ns, "Age-of-Model.")
        .field("aom_peak_ns", &Snapshot::aom_peak_ns, "Highest Age-of-Model.")
        .field(
            "rejected", [](const Snapshot &self) { return rejects_dict(self.stats.rejected); },
            "Messages not accepted, by reason.")
        .done()
        .def_readonly("weights", &Snapshot::weights,
                      "Read-only: a view that shows later changes, too.");
    Record<ServerStats>(module, "ServerStats", "Counters of a server.")
        .field("datagrams", &ServerStats::datagrams, "Received.")
        .field("acks_sent", &ServerStats::acks_sent, "Handed to the kernel.")
        .field("acks_unsent", &ServerStats::acks_unsent, "Lost on this host.")
        .field(
            "rejected", [](const ServerStats &self) { return rejects_dict(self.rejected); },
            "Messages not accepted, by reason.")
        .done();
}

} // namespace olaf::python
