// SPDX-License-Identifier: BSD-2-Clause
// Programs of the table that run at tracepoints of the kernel, and what they tell: losses behind the
// queue, and VLAN tags that aren't among a frame's bytes. A queue works without them.
#pragma once

#include <optional>
#include <string>
#include <vector>
#include <string_view>

#include "attachment.hpp"
#include "loader/datapath/datapath.hpp"
#include "loader/host/bpffs.hpp"
#include "loader/host/device.hpp"
#include "olaf/events.h"
#include "olaf/result.hpp"

namespace olaf {

/// The command that has a device leave VLAN tags where they are.
std::string untagging_remedy(const Device &device);

/// Whether all programs of an object are there.
bool at_tracepoints(const PinPlace &place, std::string_view object);

/// Attaches the programs of each object that the queue uses. Returns what is missing where an object can't
/// be attached, and where the queue can't see VLAN tags that the device takes off frames
/// (bpf/packet/beside.bpf.h): sentences, to be noted once the queue is there.
[[nodiscard]] std::vector<std::string> attach_tracepoints(const Datapath &queue, const PinPlace &place, const Device &device);

// What was lost behind the queue, as the programs of bpf/loss.bpf.c counted it.

/// Sums over CPUs; nothing: not watched, so not known.
Result<std::optional<olaf_losses>> read_losses(const Attachment &attachment);

/// Frames that died while the program that counts losses looked at another one on the same CPU: the
/// kernel runs no tracing program inside itself. Any frame of this host, ours or not. Nothing: not
/// known (not watched, or this process may not look programs up).
std::optional<std::uint64_t> deaths_unseen(const Attachment &attachment);

} // namespace olaf
