// SPDX-License-Identifier: BSD-2-Clause
// Whether the device of a pin place is still there, told from any network and mount namespace.
//
// The kernel takes a device out of every map of the type devmap as the device is deleted, moves to
// another network namespace, or goes with its namespace. So a devmap that holds the device is pinned
// with the first thing that attach does. No program uses it, and nothing is sent by it.
#pragma once

#include "bpffs.hpp"
#include "olaf/result.hpp"

namespace olaf {

namespace pin {
inline constexpr auto device = "olaf_device";
} // namespace pin

enum class Presence {
    there,
    gone,
    unknown, ///< no such pin (an attach that was killed before it, an older olaf), or no right to look
};

/// Takes no lock; the kernel is the only one that ever takes a device out.
Presence device_presence(const PinPlace &place);

/// Pins the place's device, which is of this network namespace. Does nothing if it is pinned already.
/// The caller holds the lock of the pins. Fails with what can't be made or pinned.
Result<void> pin_device(const PinPlace &place);

} // namespace olaf
