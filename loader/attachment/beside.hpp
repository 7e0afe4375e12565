// SPDX-License-Identifier: BSD-2-Clause
// What belongs to a frame and isn't among its bytes (bpf/packet/beside.bpf.h): who tells the queue,
// and what a person is told where nobody can.
#pragma once

#include <string>

#include "loader/datapath/datapath.hpp"
#include "loader/host/device.hpp"

namespace olaf {

/// Whether the driver answers native XDP programs that ask it for a VLAN tag.
bool driver_tells_tags(const Device &device);

/// The command that has a device leave VLAN tags where they are.
std::string untagging_remedy(const Device &device);

/// If the device may take VLAN tags off frames: notes that the queue won't see them, why, and the
/// remedy. The queue works all the same for updates without a tag.
void say_tags_unseen(const Device &device, const std::string &why);

/// The same where XDP is native and the driver doesn't tell, or isn't asked.
void say_if_driver_is_silent(const Datapath &queue, const Device &device);

} // namespace olaf
