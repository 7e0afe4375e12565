// SPDX-License-Identifier: BSD-2-Clause
// `attach --replace`: new programs for a running queue.
#pragma once

#include "attachment.hpp"
#include "plan.hpp"

namespace olaf {

/// Swaps each program in one step, so that none is ever missing, on the same maps. Where updates
/// are to go another way, what waits leaves by the old one first. The caller holds the lock of the pins
/// and has read the queue since. Fails where the running queue can't become what is planned without a
/// detach. On failure the old programs are back.
Result<Record> replace(const Attachment &running, const Plan &plan);

} // namespace olaf
