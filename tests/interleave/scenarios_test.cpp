// SPDX-License-Identifier: BSD-2-Clause
// Every scenario holds in every schedule with so many preemptions as it says, mostly three.
#include <gtest/gtest.h>

#include "rounds_scenarios.hpp"
#include "scenarios.hpp"

namespace olaf::interleave {
namespace {

/// More schedules than any scenario has: one that isn't through by then has failed.
constexpr std::uint64_t budget = 2'000'000;

void expect_held(const Report &report) {
    EXPECT_EQ(report.violation, "");
    EXPECT_TRUE(report.finished) << "not through after " << budget << " schedules";
    EXPECT_GT(report.outcomes.size(), 1u) << "its CPUs never get between each other";
    std::printf("%lu schedules, %lu more cut short, %zu searches, %zu outcomes\n", report.schedules,
                report.cut_short, report.searches, report.outcomes.size());
}

class Interleave : public testing::TestWithParam<Scenario> {};

TEST_P(Interleave, HoldsInEverySchedule) {
    const std::string directory = OLAF_PROGRAMS "sound";
    const Programs programs(directory), replacing(directory, "new");
    expect_held(explore(GetParam(), programs, replacing, budget));
}

INSTANTIATE_TEST_SUITE_P(Scenarios, Interleave, testing::ValuesIn(scenarios()),
                         [](const auto &info) { return info.param.name; });

class InterleaveRounds : public testing::TestWithParam<JobScenario> {};

TEST_P(InterleaveRounds, HoldInEverySchedule) {
    const JobPrograms programs(OLAF_PROGRAMS "sound");
    expect_held(explore(GetParam(), programs, budget));
}

INSTANTIATE_TEST_SUITE_P(Scenarios, InterleaveRounds, testing::ValuesIn(job_scenarios()),
                         [](const auto &info) { return info.param.name; });

} // namespace
} // namespace olaf::interleave
