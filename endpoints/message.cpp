// SPDX-License-Identifier: BSD-2-Clause
#include <olaf/message.hpp>

#include <bit>
#include <cmath>

namespace olaf {

bool checksum_matches(std::span<const std::uint64_t> lanes) {
    return !lanes.empty() && checksum(lanes.first(lanes.size() - 1)) == lanes.back();
}

std::int64_t to_reward(double reward, std::uint32_t max_count) {
    // A power of two below INT64_MAX / max_count: exact as a double.
    const auto limit =
        static_cast<double>(std::bit_floor(static_cast<std::uint64_t>(INT64_MAX) / max_count));
    const double steps = std::nearbyint(std::ldexp(reward, OLAF_REWARD_FRACTION_BITS));
    if (!(steps > -limit)) // NaN too
        return -static_cast<std::int64_t>(limit);
    return static_cast<std::int64_t>(steps < limit ? steps : limit);
}

double mean_reward(std::int64_t sum, std::uint32_t count) {
    return std::ldexp(static_cast<double>(sum), -OLAF_REWARD_FRACTION_BITS) / count;
}

} // namespace olaf
