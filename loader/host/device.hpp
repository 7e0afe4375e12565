// SPDX-License-Identifier: BSD-2-Clause
// A network device of this namespace.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "olaf/result.hpp"

namespace olaf {

struct Device {
    std::string name;
    std::uint32_t ifindex = 0;
    std::uint32_t mtu = 0;
    std::array<std::uint8_t, 6> mac{};
    bool ethernet = false; ///< has a MAC: frames start with an Ethernet header
    bool up = false;
    bool carrier = false;
    std::uint32_t master = 0; ///< ifindex of its bridge or bond; 0: none
    std::string kind;         ///< "veth", "bridge", …; empty for hardware
};

Result<Device> find_device(const std::string &name);
Result<Device> find_device(std::uint32_t ifindex);

} // namespace olaf
