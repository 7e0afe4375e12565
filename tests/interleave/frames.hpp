// SPDX-License-Identifier: BSD-2-Clause
// The frames that arrive. An update's lanes carry a bit of its own, so a departure tells by its
// lanes which updates are folded in.
#pragma once

#include <cstdint>
#include <span>

namespace olaf::interleave {

/// Clusters' servers: the even ones' is one, the odd ones' another. The last byte of its address.
inline constexpr std::uint32_t most_servers = 2;
constexpr std::uint32_t server_of(std::uint32_t cluster) { return 2 + cluster % most_servers; }

std::span<const std::uint8_t> update_frame(unsigned update, std::uint32_t cluster);
/// The same with a bit of its lanes flipped, so that its UDP checksum is wrong, and every sum with it.
std::span<const std::uint8_t> damaged_frame(unsigned update, std::uint32_t cluster);
std::span<const std::uint8_t> ack_frame(unsigned update, std::uint32_t cluster);

/// What a departing frame says: how many updates, and whose bits. exact: its lanes are their sum.
struct Departed {
    std::uint32_t count = 0;
    std::uint64_t marks = 0;
    bool exact = false;
};
bool is_update(std::span<const std::uint8_t> frame);
Departed read_departed(std::span<const std::uint8_t> frame);

} // namespace olaf::interleave
