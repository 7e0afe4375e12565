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

RoundChildStats RoundSimulation::stats() const {
    RoundChildStats sum;
    for (const auto &worker : workers_) {
        const RoundChildStats &stats = worker->child->stats();
        sum.sent += stats.sent;
        sum.repeated += stats.repeated;
        sum.results += stats.results;
        sum.asked += stats.asked;
        sum.unasked += stats.unasked;
        sum.spared += stats.spared;
    }
    return sum;
}

} // namespace olaf::model
