// SPDX-License-Identifier: BSD-2-Clause
// Steps of which each needs the one before it (g++ 12 has no std::expected::and_then).
#pragma once

#include <functional>
#include <initializer_list>

#include "olaf/result.hpp"

namespace olaf {

/// Runs them until one fails, and returns its failure.
inline Result<void> in_order(std::initializer_list<std::function<Result<void>()>> steps) {
    for (const auto &step : steps)
        if (auto done = step(); !done)
            return done;
    return {};
}

} // namespace olaf
