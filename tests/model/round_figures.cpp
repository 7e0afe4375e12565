// SPDX-License-Identifier: BSD-2-Clause
// What a simulation's workers have counted.
#include "round_simulation.hpp"
#include "round_worker.hpp"

namespace olaf::model {

unsigned RoundSimulation::skipped() const {
    unsigned sum = 0;
    for (const auto &worker : workers_)
        sum += worker->skipped();
    return sum;
}

unsigned RoundSimulation::packed_anew() const {
    unsigned sum = 0;
    for (const auto &worker : workers_)
        sum += worker->packed_anew();
    return sum;
}

CollectiveStats RoundSimulation::stats() const {
    CollectiveStats sum;
    for (const auto &worker : workers_)
        sum += worker->child->stats();
    return sum;
}

} // namespace olaf::model
