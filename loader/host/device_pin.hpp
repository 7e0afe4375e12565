// SPDX-License-Identifier: BSD-2-Clause
// Whether a device is still the one that it was, told from any network and mount namespace.
//
// The kernel takes a device out of every map of the type devmap as the device is deleted, moves to
// another network namespace, or goes with its namespace. So a devmap that holds the device is pinned
// with the first thing that is done to it. No program uses it, and nothing is sent by it.
#pragma once

#include "bpffs.hpp"
#include "olaf/result.hpp"

namespace olaf {

namespace pin {
inline constexpr auto device = "olaf_device";          ///< the queue's own
inline constexpr auto parents = "olaf_parents_device"; ///< by a job's index: where its parent is behind
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

/// Pins the device, of this network namespace, that a job's parent is behind. The caller holds the lock of
/// the pins. Fails with what can't be made or pinned.
Result<void> pin_parents_device(const PinPlace &place, std::uint32_t job_index, std::uint32_t ifindex);

/// Whether that index still means the device that was pinned for the job.
bool is_parents_device(const PinPlace &place, std::uint32_t job_index, std::uint32_t ifindex);

} // namespace olaf
