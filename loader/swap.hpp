// SPDX-License-Identifier: BSD-2-Clause
// The step of --replace that puts new programs where old ones run.
#pragma once

#include "datapath.hpp"
#include "device.hpp"
#include "record.hpp"
#include "undo.hpp"

namespace olaf {

/// The TC programs, then the XDP program: from the end of the path to its start, so that a frame
/// never meets a program that hands on what the next one doesn't know. Each step is taken back if
/// a later one fails.
Result<void> swap_filters(const PinPlace &place, const Record &running, const Device &device,
                          const Datapath &queue, Undo &undo);
Result<void> swap_entrance(const PinPlace &place, const Device &device, const Datapath &queue,
                           Undo &undo);

} // namespace olaf
