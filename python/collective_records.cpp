// SPDX-License-Identifier: BSD-2-Clause
#include <olaf/collective.hpp>

#include "bindings.hpp"
#include "record.hpp"

namespace py = pybind11;

namespace olaf::python {

void bind_collective_records(py::module_ &module) {
    Record<SumReport>(module, "SumReport", "What became of one vector.")
        .field("chunks", &SumReport::chunks, "Messages that it took.")
        .field("spared", &SumReport::spared, "Messages that it didn't need: guess_bits.")
        .field("least_count", &SumReport::least_count, "Workers in the sum, where the fewest are.")
        .field("partial", &SumReport::partial, "Chunks without all workers.")
        .field("late", &SumReport::late, "Chunks without this worker's part.")
        .field("not_finite", &SumReport::not_finite,
               "Elements that are NaN because some worker's chunk had inf or NaN.")
        .field("clipped", &SumReport::clipped, "Own elements that didn't fit.")
        .field("left_out", &SumReport::left_out,
               "Elements whose sum is without this worker's part.")
        .field(
            "left_out_at",
            [](const SumReport &self) {
                py::list ranges;
                for (const auto &[first, count] : self.left_out_at)
                    ranges.append(py::slice(static_cast<py::ssize_t>(first),
                                            static_cast<py::ssize_t>(first + count), 1));
                return ranges;
            },
            "Where those are: slices of the flat vector.")
        .done();
    Record<CollectiveStats>(module, "CollectiveStats", "Counters of a worker of a job.")
        .field("sent", &CollectiveStats::sent, "Contributions, first sendings.")
        .field("repeated", &CollectiveStats::repeated, "Contributions sent again.")
        .field("unsent", &CollectiveStats::unsent, "Messages lost on this host.")
        .field("results", &CollectiveStats::results, "Chunks summed.")
        .field("spared", &CollectiveStats::spared, "Chunks that needn't be sent: guess_bits.")
        .field("partial", &CollectiveStats::partial, "Of those: without all workers.")
        .field("late", &CollectiveStats::late, "Of those: without this worker's part.")
        .field("missed", &CollectiveStats::missed, "Chunks whose sum this worker will never get.")
        .field("agreed", &CollectiveStats::agreed, "How often all had to agree on where to begin.")
        .field("unasked", &CollectiveStats::unasked, "Answers that came twice, or too late.")
        .field(
            "rejected", [](const CollectiveStats &self) { return rejects_dict(self.rejected); },
            "Messages not accepted, by reason.")
        .done();
}

} // namespace olaf::python
