// SPDX-License-Identifier: BSD-2-Clause
// Blocks of floats as integers with one exponent, on which all workers agree by taking the
// largest. Pure and thread-safe.
#pragma once

#include <cstdint>
#include <span>

#include <olaf/packing.hpp>

namespace olaf {

/// Exponents as they travel, apart from real ones.
inline constexpr std::int16_t kAllZero = INT16_MIN;
inline constexpr std::int16_t kNotFinite = INT16_MAX;

/// The smallest e with |x| < 2^e for all of the block; or one of the above.
[[nodiscard]] std::int16_t exponent_of(std::span<const float> block);

/// Of an element's magnitude, the sign apart, so many bits can be packed that `workers` of them add
/// up. At least workers · 2^bits is in the format's range.
[[nodiscard]] int bits_of_block(Format format, std::uint32_t workers);

/// Packs a block whose largest element at any of `workers` is below 2^exponent, so that the sum
/// can't overflow. Returns how many elements were clipped because they aren't. All zeros if
/// exponent is none. Precondition: lanes.size() == lanes_for(format, block.size()), and
/// validate() allows max_count = workers.
std::uint64_t pack_block(Format format, std::uint32_t workers, std::int16_t exponent,
                         std::span<const float> block, std::span<std::uint64_t> lanes);

/// Unpacks a sum of those. NaN throughout if exponent is kNotFinite.
void unpack_block(Format format, std::uint32_t workers, std::int16_t exponent,
                  std::span<const std::uint64_t> lanes, std::span<float> block);

} // namespace olaf
