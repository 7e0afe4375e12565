// SPDX-License-Identifier: BSD-2-Clause
// The card that a network device belongs to, and the pin that remembers which card a queue is in.
#pragma once

#include <optional>
#include <string>

#include "loader/host/bpffs.hpp"
#include "loader/host/device.hpp"
#include "olaf/result.hpp"

namespace olaf {

/// The file of its registers: `named` if that isn't empty, else the BAR that PCI tells of. Only a
/// device of OpenNIC's is looked at, for to read another one's registers may disturb it. Fails with
/// ENXIO where there is none to look at.
Result<std::string> find_card(const Device &device, const std::string &named);

/// The same, by what the device's driver says of itself; `pci` is where devices have their folders.
Result<std::string> card_on_bus(const std::string &device, const std::string &driver,
                                const std::string &bus, const std::string &pci);

/// Whether the kernel is locked down, so that it lets nobody map registers.
bool is_locked_down();

// Which card a device's updates queue in, pinned beside the attachment's record. It is there from
// before the card takes the first update in until nothing waits in it any more.

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
