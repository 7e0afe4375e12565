// SPDX-License-Identifier: BSD-2-Clause
// Every scenario holds in every schedule with up to three preemptions.
#include <gtest/gtest.h>

#include "scenarios.hpp"

namespace olaf::interleave {
namespace {

/// More schedules than any scenario has: one that isn't through by then has failed.
constexpr std::uint64_t budget = 2'000'000;

class Interleave : public testing::TestWithParam<Scenario> {};

TEST_P(Interleave, HoldsInEverySchedule) {
    const std::string directory = OLAF_PROGRAMS + GetParam().programs;
    const Programs programs(directory), replacing(directory, "new");
    const Report report = explore(GetParam(), programs, replacing, budget);
    EXPECT_EQ(report.violation, "");
    EXPECT_TRUE(report.finished) << "not through after " << budget << " schedules";
    EXPECT_GT(report.outcomes.size(), 1u) << "its CPUs never get between each other";
    std::printf("%lu schedules, %lu more cut short, %zu searches, %zu outcomes\n", report.schedules,
                report.cut_short, report.searches, report.outcomes.size());
}

INSTANTIATE_TEST_SUITE_P(Scenarios, Interleave, testing::ValuesIn(scenarios()),
                         [](const auto &info) { return info.param.name; });

} // namespace
} // namespace olaf::interleave
