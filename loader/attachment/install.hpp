// SPDX-License-Identifier: BSD-2-Clause
// Putting a planned queue on a device.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "attachment.hpp"
#include "loader/datapath/datapath.hpp"
#include "loader/host/bpffs.hpp"
#include "loader/host/device.hpp"
#include "olaf/result.hpp"
#include "options.hpp"
#include "plan.hpp"

namespace olaf {

// Trying the drain before a queue is said to live.

using Meanwhile = std::function<Result<void>()>;

/// Sends a frame the whole way of a token: out of the device, back from its egress filter to its
/// ingress, from there into the drain and to its far end. Fails, with what may be in the way, if
/// none of several gets there in 50 ms and two turns of the drain. A device that is down can't be
/// tried: says so. Calls `meanwhile` every millisecond, and fails with it.
Result<void> prove_drain(
    const Datapath &queue, const Device &device,
    const Meanwhile &meanwhile = [] { return Result<void>{}; });

/// Pins the programs; with replace, in the place of older ones.
Result<void> pin_programs(const Datapath &queue, const PinPlace &place, bool replace);

// What attach asks before it changes anything, and --dry-run as well.

/// No queue of ours is there already.
Result<void> check_no_queue(const Attachment &before, const Device &device);
/// Nor anybody else's XDP program.
Result<void> check_no_program(const Device &device);
/// Why native mode can't be had, so that it is to be skb mode; "": it can. Fails if native mode is
/// wanted all the same.
Result<std::string> check_mode(const Plan &plan);

/// A new queue in the kernel: natively if driver and output can and nobody asked otherwise, else in skb
/// mode, with a note of why. Everything is written in the record before it is done, so that
/// tear_down() can take back any part of it. On failure nothing stays but the directory and what is
/// remembered of a card.
Result<Record> install_fitting_mode(PinLock &lock, const Plan &plan);

} // namespace olaf
