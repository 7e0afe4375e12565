// SPDX-License-Identifier: BSD-2-Clause
// What attach asks before it changes anything, and --dry-run as well.
#pragma once

#include <string>

#include "loader/attachment/attachment.hpp"
#include "loader/attachment/options.hpp"
#include "loader/attachment/plan.hpp"
#include "loader/host/device.hpp"
#include "olaf/result.hpp"

namespace olaf {

/// No queue of ours is there already.
Result<void> check_no_queue(const Attachment &before, const Device &device);
/// Nor anybody else's XDP program.
Result<void> check_no_program(const Device &device);
/// Why native mode can't be had, so that it is to be skb mode; "": it can. Fails if native mode is
/// wanted all the same.
Result<std::string> check_mode(const AttachOptions &options, const Device &device,
                               const Plan &plan);

} // namespace olaf
