// SPDX-License-Identifier: BSD-2-Clause
// Whether a planned queue can use native XDP.
#pragma once

#include <string>

#include "loader/host/device.hpp"
#include "plan.hpp"

namespace olaf {

/// Why native XDP is out of the question, if the kernel can tell beforehand.
std::string native_obstacle(const Device &device, const Plan &plan);

} // namespace olaf
