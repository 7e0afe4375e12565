// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace olaf::card {

/// Completes a checksum that a sender left to its device: the ones' complement sum of the bytes from
/// `start` on goes, inverted, to `start + offset`, where the pseudo header's sum lies. False, and
/// nothing changed, where that doesn't lie within the frame.
bool complete_checksum(std::span<std::uint8_t> frame, std::size_t start, std::size_t offset);

} // namespace olaf::card
