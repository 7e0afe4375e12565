// SPDX-License-Identifier: BSD-2-Clause
// Whether the output takes the frames that XDP redirects to it, CPU by CPU, and the program that its
// driver may demand for that (bpf/output.bpf.c, bpf/way/xdp_gate.bpf.h).
#pragma once

#include "attachment.hpp"
#include "loader/datapath/datapath.hpp"
#include "loader/host/bpffs.hpp"
#include "olaf/result.hpp"
#include "plan.hpp"

namespace olaf {

/// From now on the drain alone sends departures, until an XDP gate opens. Does nothing in skb mode, where
/// every output takes what generic XDP sends.
Result<void> shut_xdp_gates(const Datapath &queue);
/// The same of every queue of this network namespace that sends out of that device: its XDP program is
/// about to go. No departure is risked then.
void shut_xdp_gates_towards(std::uint32_t ifindex);

/// Opens the XDP gate of each CPU whose frames the output takes. To be called once the programs that
/// count losses and the entrance are on their hooks. Where no CPU's are taken, puts a program that
/// passes every frame on the output, if the plan lets it and that helps; takes off one that an earlier
/// output has. Notes what isn't as one may expect, and puts into the record what the output takes. The record's
/// map is written only before the output changes.
Result<void> open_output(const Datapath &queue, const PinPlace &place, const Plan &plan, const RecordMap &map,
                         Record &record);

/// Whether the device has such a program for another device's queue.
bool has_output_program(const Device &device);
/// Takes that program off, for the device is to have a queue of its own.
Result<void> yield_output(const Device &device);

} // namespace olaf
