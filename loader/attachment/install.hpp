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

using Meanwhile = std::function<Result<void>()>;

/// Tries the drain before the queue works. Sends a frame the whole way of a token: out of the device,
/// from its egress filter back to its ingress, into the drain and to the drain's far end. Fails with the
/// likely obstacle if no frame of several arrives within 50 ms and two turns of the drain. Only notes
/// that a device which is down can't be tried. Calls `meanwhile` every millisecond, and fails with it.
Result<void> prove_drain(
    const Datapath &queue, const Device &device,
    const Meanwhile &meanwhile = [] { return Result<void>{}; });

/// Pins the programs. With replace, each pin replaces an older one in one step.
Result<void> pin_programs(const Datapath &queue, const PinPlace &place, bool replace);

// What attach checks before it changes anything. --dry-run checks the same.

/// Fails if the device has a queue already.
Result<void> check_no_queue(const Attachment &before, const Device &device);
/// Fails if the device has another XDP program.
Result<void> check_no_program(const Device &device);
/// Why the queue must use skb mode; "" where native mode is possible or skb mode was asked for. Fails if
/// native mode was asked for and is impossible.
Result<std::string> check_mode(const Plan &plan);

/// Installs a new queue in the kernel: natively if the drivers can and skb mode wasn't asked for, else in
/// skb mode, with a note that tells the reason. Writes each step in the record before taking it, so that
/// tear_down() can take back every part. After a failure only the directory and a card's pin are left.
Result<Record> install_fitting_mode(PinLock &lock, const Plan &plan);

} // namespace olaf
