// SPDX-License-Identifier: BSD-2-Clause
// `olaf status` for people: the same reading as `--json`, and the same names.
#pragma once

#include <string>

#include "host_state.hpp"
#include "reading.hpp"
#include "verdict.hpp"

namespace olaf {

/// The verdict on the first line, then its remedy and what else there is to know.
std::string verdict_text(const Attachment &attachment, const QueueVerdict &verdict);

/// The counters of a group that aren't 0: "12 messages: 3 riding, 9 drain"; "" if all are.
std::string counted_text(olaf_group group, const Numbers &numbers, const olaf_config &config);

/// Every counter that isn't 0, a line a group.
std::string counters_text(const Numbers &numbers, const olaf_config &config);

std::string status_text(const Attachment &attachment, const QueueReading &reading,
                        const HostState &host, bool clusters);

} // namespace olaf
