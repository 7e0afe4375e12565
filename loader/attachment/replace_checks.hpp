// SPDX-License-Identifier: BSD-2-Clause
// What a running queue can't become without a detach.
#pragma once

#include "plan.hpp"

namespace olaf {

/// Whether new programs can take over what the old ones left in pinned maps.
Result<void> check_layout(const Record &running, const Device &device);

/// Whether the options ask for another mode, the output doesn't take frames in this one, or a
/// pinned map would have to grow.
Result<void> check_replacement(const AttachOptions &options, const Record &running,
                               const Plan &plan, const olaf_config &wanted, const Device &device);

/// Whether what departs would go another way than it does.
bool goes_another_way(const olaf_config &running, const olaf_config &wanted);

} // namespace olaf
