// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <vector>

#include "scenario.hpp"

namespace olaf::interleave {

/// All of them; names say what meets what.
const std::vector<Scenario> &scenarios();

} // namespace olaf::interleave
