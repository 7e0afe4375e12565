// SPDX-License-Identifier: BSD-2-Clause
// Age-of-Model as JSON: the same keys wherever it is printed (docs/schema/aom.json).
#pragma once

#include <nlohmann/json.hpp>

#include "loader/datapath/aom.hpp"

namespace olaf {

/// One cluster, "cluster" excepted.
nlohmann::ordered_json cluster_aom_json(const ClusterAom &cluster, std::uint64_t now_ns);

/// All clusters together: how fresh on average, how old at worst, how fair.
nlohmann::ordered_json aom_summary_json(const AomReading &reading);

} // namespace olaf
