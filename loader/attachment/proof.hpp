// SPDX-License-Identifier: BSD-2-Clause
// Trying the drain before a queue is said to live.
#pragma once

#include <functional>

#include "loader/datapath/datapath.hpp"
#include "loader/host/device.hpp"

namespace olaf {

using Meanwhile = std::function<Result<void>()>;

/// Sends a frame the whole way of a token: out of the device, back from its egress filter to its
/// ingress, from there into the drain and to its far end. Fails, with what may be in the way, if
/// none of several gets there in 50 ms and two turns of the drain. A device that is down can't be
/// tried: says so. Calls `meanwhile` every millisecond, and fails with it.
Result<void> prove_drain(
    const Datapath &queue, const Device &device,
    const Meanwhile &meanwhile = [] { return Result<void>{}; });

} // namespace olaf
