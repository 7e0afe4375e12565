// SPDX-License-Identifier: BSD-2-Clause
// Trying the drain lane before a queue is said to live.
#pragma once

#include "loader/datapath/datapath.hpp"
#include "loader/host/device.hpp"

namespace olaf {

/// Sends a frame the whole way of a token: out of the device, back from its egress filter to its
/// ingress, from there into the lane and to its far end. Fails, with what may be in the way, if it
/// doesn't get there in half a second. A device that is down can't be tried: says so.
Result<void> prove_lane(const Datapath &queue, const Device &device);

} // namespace olaf
