// SPDX-License-Identifier: BSD-2-Clause
// `attach --replace`: new programs for a running queue.
#pragma once

#include "loader/host/bpffs.hpp"
#include "loader/host/device.hpp"
#include "options.hpp"
#include "record.hpp"

namespace olaf {

/// Swaps each program in one step, so that none is ever missing, on the same maps. Where updates
/// are to go another way, what waits leaves by the old one first. What the
/// options leave open stays as it is. On failure the old programs are back.
Result<Record> replace(const AttachOptions &options, const Device &device, const PinPlace &place);

} // namespace olaf
