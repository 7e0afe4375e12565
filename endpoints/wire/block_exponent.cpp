// SPDX-License-Identifier: BSD-2-Clause
#include "endpoints/wire/block_exponent.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "endpoints/wire/lane_kernels.hpp"

namespace olaf {
namespace {

constexpr std::uint32_t kInfinity = 0x7f80'0000;

} // namespace

int bits_of_block(Format format, std::uint32_t workers) {
    const double limit = clip_limit({.format = format, .max_count = workers});
    return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(limit))) - 1;
}

std::int16_t exponent_of(std::span<const float> block) {
    const std::uint32_t largest = kernels::largest_magnitude(block.data(), block.size());
    if (largest == 0)
        return kAllZero;
    if (largest >= kInfinity)
        return kNotFinite;
    int exponent = 0;
    static_cast<void>(std::frexp(std::bit_cast<float>(largest), &exponent));
    return static_cast<std::int16_t>(exponent);
}

std::uint64_t pack_block(Format format, std::uint32_t workers, std::int16_t exponent,
                         std::span<const float> block, std::span<std::uint64_t> lanes) {
    if (exponent == kAllZero || exponent == kNotFinite) {
        std::ranges::fill(lanes, 0);
        if (exponent == kNotFinite)
            return 0;
        return static_cast<std::uint64_t>(
            std::ranges::count_if(block, [](float element) { return element != 0; }));
    }
    const double scale = std::ldexp(1.0, bits_of_block(format, workers) - exponent);
    const auto packed =
        pack({.format = format, .scale = scale, .max_count = workers}, block, lanes);
    return packed ? packed->clipped + packed->nans : block.size();
}

void unpack_block(Format format, std::uint32_t workers, std::int16_t exponent,
                  std::span<const std::uint64_t> lanes, std::span<float> block) {
    if (exponent == kNotFinite) {
        std::ranges::fill(block, std::numeric_limits<float>::quiet_NaN());
        return;
    }
    const int shift = exponent == kAllZero ? 0 : exponent - bits_of_block(format, workers);
    static_cast<void>(unpack(format, std::ldexp(1.0, shift), lanes, block));
}

} // namespace olaf
