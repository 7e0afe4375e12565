// SPDX-License-Identifier: BSD-2-Clause
// What the kernel knows of a neighbour.
#pragma once

#include <cstdint>

#include "loader/text/address.hpp"

namespace olaf {

/// Whether its MAC address is known on that device, if only from long ago.
bool neighbour_known(const IpAddress &address, std::uint32_t ifindex);

} // namespace olaf
