// SPDX-License-Identifier: BSD-2-Clause
// Taking a queue off its device, however far its attach got. Detach, a failing attach and the next
// attach after a killed one use the same functions.
#pragma once

#include <optional>

#include "loader/host/bpffs.hpp"
#include "olaf/result.hpp"

namespace olaf {

/// The first step: from here on no update reaches the queue.
Result<void> take_off_xdp(const PinPlace &place);

/// Removes the XDP program, filters, the clsact that the queue added, the drain and the pins. The locked
/// directory stays, with the pins of card and device, and with the record if `keep_record`. Goes on after
/// a failure and returns the first error. Changes devices of this network namespace only.
Result<void> tear_down(PinLock &lock, bool keep_record = false);

/// Removes the pins of queues whose device or network namespace has gone, except those at one place, and
/// notes it. Leaves every queue that may still work: other mount namespaces may know a network namespace
/// that this process doesn't see (loader/host/bpffs.hpp).
void sweep_stale(const std::optional<PinPlace> &but = {});

} // namespace olaf
