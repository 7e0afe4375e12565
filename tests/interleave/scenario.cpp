// SPDX-License-Identifier: BSD-2-Clause
#include "scenario.hpp"

#include <algorithm>
#include <stdexcept>

namespace olaf::interleave {
namespace {

void begin(Host &host, const Scenario &scenario, Report &report) {
    host.power_on();
    for (std::uint32_t cluster = 0; cluster < scenario.config.max_clusters; cluster++)
        host.rule(cluster, OLAF_POLICY_AGGREGATE);
    try {
        scenario.begin(host);
    } catch (const std::runtime_error &broken) {
        report.violation = broken.what();
    }
    host.keep();
}

/// The schedule that has just run is complete: what must hold at rest?
void settle(Host &host, const Scenario &scenario, Report &report) {
    try {
        report.outcomes.insert(host.settle(scenario.token_may_be_lost));
    } catch (const std::runtime_error &broken) {
        report.violation = broken.what() + Machine::the().story();
    }
}

/// Runs all schedules with so many preemptions.
void search_all(Host &host, const Scenario &scenario, unsigned preemptions, std::uint64_t most,
                Report &report) {
    Machine &machine = Machine::the();
    Search search(preemptions);
    report.finished = false;
    while (report.violation.empty() && report.schedules + report.cut_short < most) {
        if (!search.next()) {
            report.finished = true;
            return;
        }
        host.begin_again();
        const Ending ending = machine.run(search);
        report.schedules += ending == Ending::complete;
        report.cut_short += ending == Ending::known_before;
        if (ending == Ending::violated)
            report.violation = machine.violation();
        else if (ending == Ending::complete)
            settle(host, scenario, report);
        machine.memory.take_back();
        if (machine.learnt()) {
            search.forget();
            report.searches++;
        }
    }
}

} // namespace

Report explore(const Scenario &scenario, const Programs &programs, const Programs &replacing,
               std::uint64_t most) {
    Host host(scenario.config, programs, replacing);
    Report report;
    begin(host, scenario, report);
    std::vector<std::function<void()>> cpus;
    for (const auto &act : scenario.cpus)
        cpus.emplace_back([&host, &act] { act(host); });
    Machine::the().employ(cpus);

    // A small search first: it finds nearly all words that are contended.
    for (const unsigned preemptions : {std::min(1u, scenario.preemptions), scenario.preemptions})
        search_all(host, scenario, preemptions, most, report);
    return report;
}

} // namespace olaf::interleave
