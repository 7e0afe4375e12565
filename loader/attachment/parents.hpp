// SPDX-License-Identifier: BSD-2-Clause
// Programs of the table at the devices that jobs' parents are behind (On::parents), where that isn't
// the queue's own device. `olaf job set` puts them there, and the last job that needs them takes them
// away. The jobs themselves say where they are: so nothing is forgotten by a command that is killed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "loader/datapath/datapath.hpp"
#include "loader/host/bpffs.hpp"
#include "olaf/rounds.h"
#include "undo.hpp"

namespace olaf {

/// Whether a clsact there would come with the filter that a job of this queue needs on the device.
Result<bool> clsact_would_be_ours(const PinPlace &place, std::uint32_t ifindex);

/// Puts the programs on the device that the parent of a job, which is set, is behind, if they aren't
/// there for another one.
Result<void> watch_parent(const PinPlace &place, std::uint32_t job_index,
                          const olaf_job_setup &setup);

/// Takes them away for a job that is about to be removed, unless another needs them.
Result<void> leave_parent(const PinPlace &place, std::uint32_t job_index);

/// The same for all jobs, before their maps go.
Result<void> leave_parents(const PinPlace &place);

/// For --replace: swaps the programs where they are. Filters that somebody took away come back.
Result<void> swap_at_parents(const PinPlace &place, const Datapath &queue, Undo &undo);

/// Names of programs that a job needs and that aren't there.
std::vector<std::string> missing_at_parents(const PinPlace &place);

} // namespace olaf
