// SPDX-License-Identifier: BSD-2-Clause
// The step of --replace that puts new programs where old ones run.
#pragma once

#include "loader/datapath/datapath.hpp"
#include "record.hpp"
#include "undo.hpp"

namespace olaf {

/// In the order of the table (programs.hpp), from the end of the path to its start: so a frame never
/// meets a program that hands on what the next one doesn't know. First all that run by TC, then the
/// XDP program. Each step is taken back if a later one fails.
Result<void> swap_filters(const PinPlace &place, const Record &running, const Datapath &queue,
                          Undo &undo);
Result<void> swap_entrance(const PinPlace &place, const Record &running, const Datapath &queue,
                           Undo &undo);

} // namespace olaf
