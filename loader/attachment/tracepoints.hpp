// SPDX-License-Identifier: BSD-2-Clause
// Programs of the table that run at tracepoints of the kernel. A queue works without them.
#pragma once

#include <string_view>

#include "loader/datapath/datapath.hpp"
#include "loader/host/bpffs.hpp"
#include "loader/host/device.hpp"
#include "olaf/events.h"
#include "olaf/result.hpp"

namespace olaf {

/// Loads an object, attaches its programs and pins them with the maps that are theirs alone at the
/// queue's place, all or nothing. Those that are there go on (--replace), told what may have
/// changed. Fails where the kernel has no BTF or lets no tracepoint program in.
Result<void> attach_tracepoints(const Datapath &queue, const PinPlace &place,
                                std::string_view object);

/// Whether all programs of an object are there.
bool at_tracepoints(const PinPlace &place, std::string_view object);

/// Every object that this queue has use for. Says what is missing where one can't be attached.
void attach_tracepoints_or_say(const Datapath &queue, const PinPlace &place, const Device &device);

/// Whose losses count: the queue's device, and the one that departures leave by.
olaf_watched watched_of(const PinPlace &place, const olaf_config &config);

} // namespace olaf
