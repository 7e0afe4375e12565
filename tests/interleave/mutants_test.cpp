// SPDX-License-Identifier: BSD-2-Clause
// The checker finds faults: each of mutants.cmake is caught by the scenario that it names.
#include <gtest/gtest.h>

#include <stdexcept>

#include "rounds_scenarios.hpp"
#include "scenarios.hpp"

namespace olaf::interleave {
namespace {

struct Mutant {
    const char *name;
    const char *scenario;
};

void PrintTo(const Mutant &mutant, std::ostream *out) { *out << mutant.name; }

constexpr Mutant mutants[] = {
#include "mutants.inc"
};

constexpr std::uint64_t budget = 2'000'000;

class Mutants : public testing::TestWithParam<Mutant> {};

/// Runs the scenario of that name on these programs.
Report explore_named(const std::string &name, const std::string &directory) {
    for (const auto &scenario : scenarios())
        if (scenario.name == name) {
            const Programs programs(directory), replacing(directory, "new");
            return explore(scenario, programs, replacing, budget);
        }
    for (const auto &scenario : job_scenarios())
        if (scenario.name == name)
            return explore(scenario, JobPrograms(directory), budget);
    throw std::logic_error("no scenario " + name);
}

TEST_P(Mutants, IsFound) {
    const Report report =
        explore_named(GetParam().scenario, std::string(OLAF_PROGRAMS) + GetParam().name);
    EXPECT_NE(report.violation, "") << "nothing was broken in " << report.schedules << " schedules";
    std::printf("%s\nafter %lu schedules\n", report.violation.c_str(),
                report.schedules + report.cut_short);
}

INSTANTIATE_TEST_SUITE_P(Seeded, Mutants, testing::ValuesIn(mutants),
                         [](const auto &info) { return info.param.name; });

} // namespace
} // namespace olaf::interleave
