// SPDX-License-Identifier: BSD-2-Clause
#include "trial.hpp"

#include <algorithm>
#include <stdexcept>

#include "machine.hpp"

namespace olaf::interleave {
namespace {

void begin(Trial &trial, Report &report) {
    try {
        trial.begin();
    } catch (const std::runtime_error &broken) {
        report.violation = broken.what();
    }
}

/// The schedule that has just run is complete: what must hold at rest?
void settle(Trial &trial, Report &report) {
    try {
        report.outcomes.insert(trial.settle());
    } catch (const std::runtime_error &broken) {
        report.violation = broken.what() + Machine::the().story();
    }
}

/// Runs all schedules with so many preemptions.
void search_all(Trial &trial, unsigned preemptions, std::uint64_t most, Report &report) {
    Machine &machine = Machine::the();
    Search search(preemptions);
    report.finished = false;
    while (report.violation.empty() && report.schedules + report.cut_short < most) {
        if (!search.next()) {
            report.finished = true;
            return;
        }
        trial.begin_again();
        const Ending ending = machine.run(search);
        report.schedules += ending == Ending::complete;
        report.cut_short += ending == Ending::known_before;
        if (ending == Ending::violated)
            report.violation = machine.violation();
        else if (ending == Ending::complete)
            settle(trial, report);
        machine.memory.take_back();
        if (machine.learnt()) {
            search.forget();
            report.searches++;
        }
    }
}

} // namespace

Report explore(Trial &trial, unsigned preemptions, std::uint64_t most) {
    Report report;
    begin(trial, report);
    Machine::the().employ(trial.cpus());
    // A small search first: it finds nearly all words that are contended.
    for (const unsigned least : {std::min(1u, preemptions), preemptions})
        search_all(trial, least, most, report);
    return report;
}

} // namespace olaf::interleave
