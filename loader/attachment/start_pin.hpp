// SPDX-License-Identifier: BSD-2-Clause
// The pin `start` of a queue whose figures were started anew: a map of words (datapath/start.hpp)
// that no program reads. It goes with the queue's other pins.
#pragma once

#include <optional>

#include "attachment.hpp"
#include "loader/datapath/start.hpp"
#include "olaf/result.hpp"

namespace olaf {

/// Nothing: they start with the queue.
Result<std::optional<Start>> read_start(const Attachment &attachment);

/// From now on figures start there. Readers see the old start or this one, whatever happens to this
/// process meanwhile. The caller holds the lock of the pins.
Result<void> write_start(const Attachment &attachment, const Start &start);

} // namespace olaf
