// SPDX-License-Identifier: BSD-2-Clause
// `olaf status --json`: the object that docs/cli.md promises.
#pragma once

#include <nlohmann/json.hpp>

#include "reading.hpp"

namespace olaf {

nlohmann::ordered_json status_json(const Attachment &attachment, const QueueReading &state,
                                   bool clusters);

} // namespace olaf
