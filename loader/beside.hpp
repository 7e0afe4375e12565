// SPDX-License-Identifier: BSD-2-Clause
// What belongs to a frame and isn't among its bytes (bpf/packet/beside.bpf.h): who tells the
// queue of it, and what a person hears where nobody can.
#pragma once

#include <string>

#include "bpffs.hpp"
#include "datapath.hpp"
#include "device.hpp"

namespace olaf {

/// Whether the driver answers native XDP programs that ask it for a VLAN tag.
bool driver_tells_tags(const Device &device);

/// The command that has a device leave VLAN tags where they are.
std::string untagging_remedy(const Device &device);

/// In skb mode: has a tracepoint leave the notes, pinned at the queue's place; one that is there
/// goes on (--replace). Where tags stay unseen, says so in a line with the remedy: the queue
/// works without, for updates that have no tag.
void look_beside_or_say(const Datapath &queue, const PinPlace &place, const Device &device);

} // namespace olaf
