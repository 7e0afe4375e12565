// SPDX-License-Identifier: BSD-2-Clause
// Taking an attachment back, however far it got: the one path for detach, for an attach that
// fails halfway, and for what an attach that was killed left behind.
#pragma once

#include <optional>

#include "loader/host/bpffs.hpp"
#include "olaf/result.hpp"

namespace olaf {

/// The first step of that: from here on no update comes to the queue.
Result<void> take_off_xdp(const PinPlace &place);

/// Removes XDP program, filters, clsact if ours, drain, pins; the directory stays, locked, and in it
/// what is remembered of a card and of the device, and the record if that is to be kept. Goes on after a failure and
/// returns the first. Touches devices only of this namespace.
Result<void> tear_down(PinLock &lock, bool keep_record = false);

/// Removes what attachments of vanished devices and namespaces left, except at one place, and says
/// so. What may still live isn't touched, nor what can't be told: a namespace that this process doesn't see
/// may be known in other mount namespaces (loader/host/bpffs.hpp).
void sweep_stale(const std::optional<PinPlace> &but = {});

} // namespace olaf
