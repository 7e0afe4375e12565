// SPDX-License-Identifier: BSD-2-Clause
// What belongs to a frame and isn't among its bytes (bpf/packet/beside.bpf.h): who tells the
// queue of it, and what a person hears where nobody can.
#pragma once

#include <string>

#include "loader/datapath/datapath.hpp"
#include "loader/host/device.hpp"

namespace olaf {

/// Whether the driver answers native XDP programs that ask it for a VLAN tag.
bool driver_tells_tags(const Device &device);

/// The command that has a device leave VLAN tags where they are.
std::string untagging_remedy(const Device &device);

/// Says in a line that a device's hidden tags stay unseen, why, and the remedy, if it may hide any:
/// the queue works without, for updates that have no tag.
void say_tags_unseen(const Device &device, const std::string &why);

/// The same where XDP is native and the driver doesn't tell.
void say_if_driver_is_silent(const Datapath &queue, const Device &device);

} // namespace olaf
