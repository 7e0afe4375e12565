// SPDX-License-Identifier: BSD-2-Clause
// Programs of others that see a device's frames before our filters do.
#pragma once

#include <cstdint>
#include <string>

namespace olaf {

/// "TCX program 12 (name) on the ingress, filter name of priority 1 on the egress"; "" if none.
std::string foreign_tc(std::uint32_t ifindex);

} // namespace olaf
