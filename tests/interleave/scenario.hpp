// SPDX-License-Identifier: BSD-2-Clause
// A few CPUs of a host with a queue, and what each does.
#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "host.hpp"
#include "trial.hpp"

namespace olaf::interleave {

using Act = std::function<void(Host &)>;

struct Scenario {
    std::string name;
    olaf_config config = usual_config();
    Act begin = [](Host &) {};  ///< once, before any CPU runs
    std::vector<Act> cpus = {};
    bool token_may_be_lost = false; ///< the scenario loses it, and no arrival replaces it
    unsigned preemptions = 3;
};

/// What gtest shows of a parameter.
inline void PrintTo(const Scenario &scenario, std::ostream *out) { *out << scenario.name; }

Report explore(const Scenario &scenario, const Programs &programs, const Programs &replacing,
               std::uint64_t most);

} // namespace olaf::interleave
