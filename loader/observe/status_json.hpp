// SPDX-License-Identifier: BSD-2-Clause
// A reading as JSON: for `olaf status`, and the shorter one for the live page.
#pragma once

#include <nlohmann/json.hpp>

#include "loader/datapath/aom.hpp"
#include "loader/datapath/jobs.hpp"
#include "reading.hpp"
#include "rows.hpp"
#include "verdict.hpp"

namespace olaf {

// Age-of-Model as JSON: the same keys wherever it is printed (docs/schema/aom.json).

/// One cluster, "cluster" excepted.
nlohmann::ordered_json cluster_aom_json(const ClusterAom &cluster, std::uint64_t now_ns);

/// All clusters together: how fresh on average, how old at worst, how fair.
nlohmann::ordered_json aom_summary_json(const AomReading &reading);

// Jobs as `olaf status --json` and `olaf job list --json` have them.

nlohmann::ordered_json jobs_json(const std::vector<JobReading> &jobs, std::uint64_t now_ns);

// A queue between two readings, as the live page and `olaf top --json` have it.

/// docs/schema/live.json
nlohmann::ordered_json live_json(const Reading &latest, const Rows &rows);

/// The list of counters for the page: where each stands in `status`, what it counts.
nlohmann::ordered_json counters_json();

nlohmann::ordered_json status_json(const Attachment &attachment, const QueueReading &state,
                                   const HostState &host, bool clusters);

/// Devices of others that attach put a qdisc clsact on.
std::vector<std::string> clsact_added(const Attachment &attachment, const HostState &host);

/// The object "verdict".
nlohmann::ordered_json verdict_json(const QueueVerdict &verdict);

} // namespace olaf
