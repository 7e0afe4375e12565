// SPDX-License-Identifier: BSD-2-Clause
// `olaf status --json`: the object that docs/cli.md promises.
#pragma once

#include <nlohmann/json.hpp>

#include "host_state.hpp"
#include "reading.hpp"
#include "verdict.hpp"

namespace olaf {

nlohmann::ordered_json status_json(const Attachment &attachment, const QueueReading &state,
                                   const HostState &host, bool clusters);

/// Devices of others that attach put a qdisc clsact on.
std::vector<std::string> clsact_added(const Attachment &attachment, const HostState &host);

/// The object "verdict".
nlohmann::ordered_json verdict_json(const QueueVerdict &verdict);

} // namespace olaf
