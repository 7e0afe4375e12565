// SPDX-License-Identifier: BSD-2-Clause
// A queue between two readings, as the live page and `olaf top --json` have it.
#pragma once

#include <nlohmann/json.hpp>

#include "cluster_rows.hpp"

namespace olaf {

/// docs/schema/live.json
nlohmann::ordered_json live_json(const Reading &latest, const Rows &rows);

/// The list of counters for the page: where each stands in `status`, what it counts.
nlohmann::ordered_json counters_json();

} // namespace olaf
