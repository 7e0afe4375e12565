// SPDX-License-Identifier: BSD-2-Clause
// Which card a device's updates queue in, pinned beside the attachment's record. It is there from
// before the card takes the first update in until nothing waits in it any more.
#pragma once

#include <optional>
#include <string>

#include "loader/host/bpffs.hpp"
#include "olaf/result.hpp"

namespace olaf {

namespace pin {
inline constexpr auto card = "olaf_card";
} // namespace pin

/// The file of its registers; nothing: the queue has no card.
std::optional<std::string> card_of(const PinPlace &place);

/// The caller holds the lock of the pins.
Result<void> remember_card(const PinPlace &place, const std::string &path);
Result<void> forget_card(const PinPlace &place);

/// Fails if the card is remembered for another device, of whatever network namespace.
Result<void> check_card_free(const PinPlace &place, const std::string &path);

} // namespace olaf
