// SPDX-License-Identifier: BSD-2-Clause
// `attach --replace`: new programs for a running queue.
#pragma once

#include "attachment.hpp"
#include "loader/host/bpffs.hpp"
#include "loader/host/device.hpp"
#include "options.hpp"
#include "plan.hpp"

namespace olaf {

// What a running queue can't become without a detach.

/// Whether new programs can take over what the old ones left in pinned maps.
Result<void> check_layout(const Record &running, const Device &device);

/// Whether the options ask for another mode, the output doesn't take frames in this one, or a
/// pinned map would have to grow.
Result<void> check_replacement(const AttachOptions &options, const Record &running,
                               const Plan &plan, const olaf_config &wanted, const Device &device);

/// Whether what departs would go another way than it does.
bool goes_another_way(const olaf_config &running, const olaf_config &wanted);

/// Swaps each program in one step, so that none is ever missing, on the same maps. Where updates
/// are to go another way, what waits leaves by the old one first. What the
/// options leave open stays as it is. On failure the old programs are back.
Result<Record> replace(const AttachOptions &options, const Device &device, const PinPlace &place);

} // namespace olaf
