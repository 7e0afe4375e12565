// SPDX-License-Identifier: BSD-2-Clause
// Departures, metered by the kernel's own functions.
#pragma once

#include "bpf/age/sawtooth.bpf.h"
#include "loader/datapath/aom.hpp"

namespace olaf::test {

inline constexpr std::uint64_t second = 1'000'000'000, year = 31'557'600 * second;
inline constexpr std::int64_t tai_ahead = 1'790'000'000ll * 1'000'000'000;

inline Wide wide(const olaf_u128 &value) {
    return Wide{value.high} << 64 | value.low;
}

/// A departure at `now` of an update that arrived then; `generated` on the monotonic clock.
inline void depart(olaf_aom &aom, std::uint64_t now, std::uint64_t arrived, std::int64_t generated,
                   std::uint32_t count = 1, std::uint32_t version = 0) {
    const olaf_metered update{.first_arrived_ns = arrived,
                              .arrived_ns = arrived,
                              .generated_ns = static_cast<std::uint64_t>(generated + tai_ahead),
                              .count = count,
                              .model_version = version};
    aom.begun++;
    if (olaf_age_turns(&aom, now))
        olaf_age_turn(&aom, now);
    olaf_meter(&aom, &update, now, tai_ahead);
    aom.ended++;
}

} // namespace olaf::test
