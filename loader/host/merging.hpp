// SPDX-License-Identifier: BSD-2-Clause
// Offloads by which a card merges frames that it receives. The kernel, or the driver, switches them off for an
// XDP program and leaves them off. Olaf remembers them, and switches them on again.
#pragma once

#include <cstdint>
#include <string>

#include "device.hpp"

namespace olaf {

/// Sets of such offloads: bit 0 is rx-lro, bit 1 rx-gro-hw, as the kernel names them. Empty for a device that
/// doesn't tell.
struct Merging {
    std::uint32_t on = 0;
    std::uint32_t fixed = 0; ///< that nobody can switch
};
Merging merging_of(const std::string &device);

/// "LRO and rx-gro-hw".
std::string merging_text(std::uint32_t offloads);

/// Switches these on again where they are off, unless the device has an XDP program. Notes what can't be
/// switched.
void restore_merging(const Device &device, std::uint32_t offloads);

} // namespace olaf
