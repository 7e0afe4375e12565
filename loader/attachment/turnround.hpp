// SPDX-License-Identifier: BSD-2-Clause
// Programs of the table on the way back (On::way_back): they turn ACKs from an upstream server round
// to the workers, at the device that the server is reached by, which may be the queue's own.
#pragma once

#include "loader/datapath/datapath.hpp"
#include "loader/host/bpffs.hpp"
#include "record.hpp"
#include "undo.hpp"

namespace olaf {

/// Puts it there if the queue delivers upstream; written in the record before each step.
Result<void> install_return(const RecordMap &map, Record &record, const Datapath &queue);

/// Takes it away, and the clsact that came with it; also what a killed --replace left elsewhere.
Result<void> remove_return(const PinPlace &place, const Record &record);

/// For --replace: swaps the program where the filter stays, or puts a filter where there will be
/// one. *record is the new one; a filter that it needs no more is left for leave_return().
Result<void> swap_return(const PinPlace &place, const RecordMap &map, const Record &running,
                         Record &record, const Datapath &queue, Undo &undo);

/// After swap_return(), once *record is written: takes away what is on the device that was left.
Result<void> leave_return(const PinPlace &place, const RecordMap &map, Record &record);

} // namespace olaf
