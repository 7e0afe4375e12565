// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace olaf::training {

/// How an episode stands after a step.
enum class Status {
    running,
    terminated, ///< it came to its end: no future reward
    truncated,  ///< the step limit cut it off: the future has value
};

} // namespace olaf::training
