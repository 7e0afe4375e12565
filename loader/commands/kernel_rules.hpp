// SPDX-License-Identifier: BSD-2-Clause
// Rules of clusters, where a queue moves between kernel and card.
#pragma once

#include <vector>

#include "loader/attachment/attachment.hpp"

namespace olaf {

/// Those of a queue in the kernel, as far as `config` has clusters for them. Clusters that follow the
/// default policy follow it to that of `config`.
Result<std::vector<olaf_rule>> rules_in_kernel(const Attachment &attachment,
                                               const olaf_config &config);

/// Gives clusters 0, 1, ... of the kernel's queue these.
Result<void> set_kernel_rules(const PinPlace &place, const std::vector<olaf_rule> &rules);

} // namespace olaf
