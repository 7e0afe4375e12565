// SPDX-License-Identifier: BSD-2-Clause
#include "book.hpp"

#include <bit>
#include <cmath>

namespace olaf {
namespace {

// "OLAF" in ASCII, as a binary32 has it.
constexpr std::uint32_t mark = 0x4f4c4146;

} // namespace

std::size_t book_elements(Format format, std::size_t lanes) {
    return (lanes - 1) * elements_per_lane(format);
}

std::vector<float> empty_book(std::size_t elements) {
    std::vector<float> weights(elements);
    weights[0] = std::bit_cast<float>(mark);
    return weights;
}

bool is_book(std::span<const float> weights) {
    return !weights.empty() && std::bit_cast<std::uint32_t>(weights[0]) == mark;
}

std::uint32_t book_entry(std::span<const float> weights, std::size_t element) {
    return std::bit_cast<std::uint32_t>(weights[element]);
}

std::uint64_t enter_into_book(const Contribution &contribution, std::span<float> weights) {
    std::uint64_t updates = 0;
    if (contribution.segments != 1)
        return updates;
    for (std::size_t i = 1; i < weights.size(); i++) {
        const double sum = double{contribution.mean_gradient[i]} * contribution.count;
        if (sum < 0.5)
            continue;
        const auto ones = static_cast<std::uint32_t>(std::lround(sum));
        weights[i] = std::bit_cast<float>(std::bit_cast<std::uint32_t>(weights[i]) + ones);
        updates += ones;
    }
    return updates;
}

} // namespace olaf
