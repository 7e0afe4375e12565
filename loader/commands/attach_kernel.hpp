// SPDX-License-Identifier: BSD-2-Clause
// A new queue in the kernel, in the mode that works.
#pragma once

#include "loader/attachment/options.hpp"
#include "loader/attachment/plan.hpp"
#include "loader/host/bpffs.hpp"

namespace olaf {

/// Natively if driver and output can and nobody asked otherwise, else in skb mode, with a note of why.
/// On failure nothing stays but the directory and what is remembered of a card.
Result<Record> install_fitting_mode(PinLock &lock, const AttachOptions &options,
                                    const Device &device, const Plan &plan);

} // namespace olaf
