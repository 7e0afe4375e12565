// SPDX-License-Identifier: BSD-2-Clause
// Jobs as `olaf status --json` and `olaf job list --json` have them.
#pragma once

#include <nlohmann/json.hpp>

#include "loader/datapath/jobs.hpp"

namespace olaf {

nlohmann::ordered_json jobs_json(const std::vector<JobReading> &jobs, std::uint64_t now_ns);

} // namespace olaf
