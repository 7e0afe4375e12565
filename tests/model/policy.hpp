// SPDX-License-Identifier: BSD-2-Clause
// Algorithm 1 and the other policies, as design.md words them.
#pragma once

#include "update.hpp"

namespace olaf::model {

enum class Policy { olaf, fifo, aggregate, newest };

struct Rule {
    Policy policy = Policy::olaf;
    std::uint32_t max_count = 256;
    std::int64_t reward_threshold = -1; ///< Q47.16; negative: no filter
};

enum class Verdict { aggregate, replace, drop, seal };

/// What becomes of an arrival whose (cluster, segment) has an open entry waiting.
Verdict judge(const Rule &rule, const Update &waiting, const Update &arriving);

} // namespace olaf::model
