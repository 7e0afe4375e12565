// SPDX-License-Identifier: BSD-2-Clause
// What all programs of the example must agree on.
#pragma once

#include "network.hpp"

#include <olaf/packing.hpp>

namespace olaf::lunar_lander {

/// Fixed point for changes of weights: 32 minibatches move an element by at most a few hundredths.
/// The limit lies at 2^31 / 2^24 / 256 = 0.5, so nothing ever saturates.
inline constexpr Packing kPacking = {.format = Format::i32x2, .scale = 1 << 24, .max_count = 256};

/// Of the way, so that an update is one frame. With 1500 it is seven, which fold apart.
inline constexpr std::size_t kMtu = 9000;

} // namespace olaf::lunar_lander
