// SPDX-License-Identifier: BSD-2-Clause
// The frames that arrive. An update's lanes carry a bit of its own, so a departure tells by its
// lanes which updates are folded in.
#pragma once

#include <cstdint>
#include <span>

namespace olaf::interleave {

inline constexpr unsigned most_updates = 16;

std::span<const std::uint8_t> update_frame(unsigned update, std::uint32_t cluster);
std::span<const std::uint8_t> ack_frame(unsigned update, std::uint32_t cluster);

/// What a departing frame says: how many updates, and whose bits. exact: its lanes are their sum.
struct Departed {
    std::uint32_t count = 0;
    std::uint64_t marks = 0;
    bool exact = false;
};
Departed read_departed(std::span<const std::uint8_t> frame);

} // namespace olaf::interleave
