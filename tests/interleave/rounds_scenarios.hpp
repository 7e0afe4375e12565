// SPDX-License-Identifier: BSD-2-Clause
// A few CPUs of a job's node, and what each does.
#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "node.hpp"
#include "trial.hpp"

namespace olaf::interleave {

using JobAct = std::function<void(Node &)>;

struct JobScenario {
    std::string name;
    JobShape shape = {};
    JobAct begin = [](Node &) {}; ///< once, before any CPU runs; the job runs already
    std::vector<JobAct> cpus = {};
    unsigned preemptions = 3;
};

/// What gtest shows of a parameter.
inline void PrintTo(const JobScenario &scenario, std::ostream *out) { *out << scenario.name; }

/// Those in which results leave by multicast.
void add_multicast(std::vector<JobScenario> &to);
/// Those in which members come and go.
void add_members(std::vector<JobScenario> &to);
/// All of them; names say what meets what.
const std::vector<JobScenario> &job_scenarios();

Report explore(const JobScenario &scenario, const JobPrograms &programs, std::uint64_t most);

} // namespace olaf::interleave
