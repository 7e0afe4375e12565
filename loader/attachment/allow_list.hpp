// SPDX-License-Identifier: BSD-2-Clause
// Whose updates a queue takes. It changes in two steps, so that a sender on both lists is never
// refused: allow(), then, once the programs that ask the list are in place, allow_only().
#pragma once

#include <vector>

#include "olaf/queue.h"
#include "olaf/result.hpp"
#include "undo.hpp"

namespace olaf {

/// Adds those that aren't there; takes them away again if the undo comes to it.
Result<void> allow(int map_fd, const std::vector<olaf_prefix> &prefixes, Undo *undo = nullptr);

/// Those that are there.
std::vector<olaf_prefix> allowed_prefixes(int map_fd);

/// Removes all others.
Result<void> allow_only(int map_fd, const std::vector<olaf_prefix> &prefixes);

} // namespace olaf
