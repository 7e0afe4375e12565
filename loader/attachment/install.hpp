// SPDX-License-Identifier: BSD-2-Clause
// Putting a planned queue on a device, in one mode. Everything it does is written in the
// record first, so that tear_down() can take back any part of it.
#pragma once

#include <vector>

#include "loader/datapath/datapath.hpp"
#include "loader/host/bpffs.hpp"
#include "plan.hpp"
#include "record.hpp"

namespace olaf {

/// Drain, programs, pins, filters and, last of all, XDP. On failure, what is done stays for
/// tear_down().
Result<Record> install(const PinPlace &place, const Device &device, const Plan &plan,
                       const std::vector<olaf_prefix> &allow, bool skb_mode);

/// Pins the programs; with replace, in the place of older ones.
Result<void> pin_programs(const Datapath &queue, const PinPlace &place, bool replace);

} // namespace olaf
