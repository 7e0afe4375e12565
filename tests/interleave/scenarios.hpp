// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <vector>

#include "scenario.hpp"

namespace olaf::interleave {

/// All of them; names say what meets what.
const std::vector<Scenario> &scenarios();
const Scenario &scenario_named(const std::string &name);

} // namespace olaf::interleave
