// SPDX-License-Identifier: BSD-2-Clause
// `olaf status --json`: the object that docs/cli.md promises.
#pragma once

#include <nlohmann/json.hpp>

#include "attachment.hpp"
#include "snapshot.hpp"

namespace olaf {

nlohmann::ordered_json status_json(const Attachment &attachment, const Snapshot &snapshot,
                                   bool clusters);

} // namespace olaf
