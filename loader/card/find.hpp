// SPDX-License-Identifier: BSD-2-Clause
// The card that a network device belongs to.
#pragma once

#include <string>

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

} // namespace olaf
