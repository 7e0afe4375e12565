// SPDX-License-Identifier: BSD-2-Clause
// What both programs of the example must agree on, and how their options name it.
#pragma once

#include "policy.hpp"

#include <olaf/packing.hpp>

#include <map>
#include <string>

namespace olaf::cartpole {

inline const std::map<std::string, Format> kFormatNames = {{"i32x2", Format::i32x2},
                                                           {"i16x4", Format::i16x4}};

/// Fixed point for gradients whose norm, and so each element, is at most 0.5: the
/// clip limit lies at 2 for i32x2 and at 1 for i16x4, so nothing ever saturates.
/// i16x4 pays for its 16 bits with a smaller max_count, of which the queue must be told.
/// Another scale than 0 takes the place of the format's own, and may saturate.
inline Packing packing_for(Format format, double scale = 0) {
    const bool narrow = format == Format::i16x4;
    const double own = narrow ? 1 << 10 : 1 << 22;
    return {.format = narrow ? Format::i16x4 : Format::i32x2,
            .scale = scale > 0 ? scale : own,
            .max_count = narrow ? 32U : OLAF_DEFAULT_MAX_COUNT};
}

/// The weights that a cluster starts from.
inline Parameters first_weights(std::uint64_t seed, std::uint32_t cluster) {
    Random random{seed, cluster};
    return initial_parameters(random);
}

} // namespace olaf::cartpole
