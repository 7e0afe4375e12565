// SPDX-License-Identifier: BSD-2-Clause
// The checker finds faults: each of mutants/ is caught by the scenario that it names.
#include <gtest/gtest.h>

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

TEST_P(Mutants, IsFound) {
    const std::string directory = std::string(OLAF_PROGRAMS) + GetParam().name;
    const Programs programs(directory), replacing(directory, "new");
    const Report report = explore(scenario_named(GetParam().scenario), programs, replacing, budget);
    EXPECT_NE(report.violation, "") << "nothing was broken in " << report.schedules << " schedules";
    std::printf("%s\nafter %lu schedules\n", report.violation.c_str(),
                report.schedules + report.cut_short);
}

INSTANTIATE_TEST_SUITE_P(Seeded, Mutants, testing::ValuesIn(mutants),
                         [](const auto &info) { return info.param.name; });

} // namespace
} // namespace olaf::interleave
