// SPDX-License-Identifier: BSD-2-Clause
// What a node that adds floats must answer, worked out apart from it: long double has 64 bits of
// mantissa, so a float times 2^s is exact in it, and so is a sum that fits 63 bits. It rounds as IEEE says.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "olaf/floats.h"

namespace olaf::test {

__extension__ typedef __int128 WideInteger; // NOLINT(modernize-use-using): a using can't have it

/// A job's arithmetic.
struct FloatRules {
    int bits = OLAF_DEFAULT_FLOAT_BITS; ///< s
    int headroom = 8;                   ///< max_count is at most 2^headroom
};

struct FloatFaults {
    std::uint64_t overflow = 0, not_finite = 0;
    bool operator==(const FloatFaults &) const = default;
};

/// The value in units of 2^-s, to the nearest; nothing: it is no number, or too large.
inline std::optional<WideInteger> fixed_of(float value, std::uint32_t count, FloatRules rules,
                                        FloatFaults &faults) {
    if (!std::isfinite(value)) {
        faults.not_finite++;
        return {};
    }
    const long double scaled = nearbyintl(ldexpl(value, rules.bits));
    if (fabsl(scaled) > ldexpl(count, OLAF_FLOAT_SUM_BITS - rules.headroom)) {
        faults.overflow++;
        return {};
    }
    return static_cast<WideInteger>(scaled);
}

/// One element of a chunk's sum: what each contribution has there.
class FloatSum {
  public:
    explicit FloatSum(FloatRules rules) : rules_(rules) {}
    void add(float value, FloatFaults &faults, std::uint32_t count = 1) {
        const auto fixed = fixed_of(value, count, rules_, faults);
        is_number_ = is_number_ && fixed;
        sum_ += fixed.value_or(0);
    }
    [[nodiscard]] std::uint32_t bits() const {
        if (!is_number_)
            return 0x7fc00000;
        const auto value = static_cast<float>(ldexpl(static_cast<long double>(sum_), -rules_.bits));
        return std::bit_cast<std::uint32_t>(value);
    }

  private:
    FloatRules rules_;
    WideInteger sum_ = 0;
    bool is_number_ = true;
};

/// Two floats a lane, the first in the low half.
inline std::vector<std::uint64_t> float_lanes(std::span<const float> values) {
    std::vector<std::uint64_t> lanes((values.size() + 1) / 2);
    for (std::size_t i = 0; i < values.size(); i++)
        lanes[i / 2] |= std::uint64_t{std::bit_cast<std::uint32_t>(values[i])} << (i % 2 * 32);
    return lanes;
}

} // namespace olaf::test
