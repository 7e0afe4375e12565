// SPDX-License-Identifier: BSD-2-Clause
// Updates that count themselves. An update of worker w has a one in element w and zeros elsewhere,
// in i32x2; a queue adds elements where it folds, so the elements of a message say how many updates
// of each worker are in it, whatever was folded with what. An answer has the sums so far in f32x2.
#pragma once

#include <bit>
#include <cstdint>
#include <span>

#include <olaf/packing.hpp>

namespace olaf::evaluation {

/// Workers that an update of so many lanes, its checksum lane among them, can count.
constexpr std::uint32_t most_workers(std::size_t lanes) {
    return lanes == 0 ? 0 : static_cast<std::uint32_t>(2 * (lanes - 1));
}
/// Writes an update of that worker into lanes, the last of which is the checksum's.
inline void write_one(std::span<std::uint64_t> lanes, std::uint32_t worker) {
    for (auto &lane : lanes)
        lane = 0;
    lanes[worker / 2] = std::uint64_t{1} << (32 * (worker % 2));
    lanes.back() = (2 * (worker / 2) + 1) * lanes[worker / 2];
}
/// How many of that worker's are in a message. Counts stay below 2^31, so no element borrows.
inline std::uint32_t read_count(std::span<const std::uint64_t> lanes, std::uint32_t worker) {
    return static_cast<std::uint32_t>(lanes[worker / 2] >> (32 * (worker % 2)));
}
/// A sum in an answer: exact up to 2^24.
inline void write_sum(std::span<std::uint64_t> lanes, std::uint32_t worker, std::uint64_t sum) {
    const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(sum));
    lanes[worker / 2] |= std::uint64_t{bits} << (32 * (worker % 2));
}
inline std::uint64_t read_sum(std::span<const std::uint64_t> lanes, std::uint32_t worker) {
    return static_cast<std::uint64_t>(std::bit_cast<float>(read_count(lanes, worker)));
}

} // namespace olaf::evaluation
