// SPDX-License-Identifier: BSD-2-Clause
// `attach --replace`: of a queue in the kernel or in a card, wherever it is to be then.
#pragma once

#include "attachment.hpp"
#include "plan.hpp"

namespace olaf {

/// In the kernel, swaps each program in one step, so that none is ever missing, on the same maps.
/// Where updates are to go another way, what waits leaves by the old one first. The caller holds
/// the lock of the pins and has read the queue since. Fails where the running queue can't become
/// what is planned without a detach. On failure the old programs are back.
Result<Record> replace(PinLock &lock, const Attachment &running, const Plan &plan);

} // namespace olaf
