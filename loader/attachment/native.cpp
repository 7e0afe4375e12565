// SPDX-License-Identifier: BSD-2-Clause
#include "native.hpp"

#include <fmt/format.h>

#include "loader/host/xdp_features.hpp"

namespace olaf {

std::string native_obstacle(const Device &device, const Plan &plan) {
    if (const auto features = xdp_features(device.ifindex); features && !features->basic)
        return fmt::format("the driver of {} has no native XDP", device.name);
    if (!plan.egress)
        return {};
    if (const auto features = xdp_features(plan.egress->ifindex); features && !features->target)
        return fmt::format("{} takes no redirected frames{}", plan.egress->name,
                           plan.egress->kind == "veth"
                               ? " (its peer needs an XDP program, or GRO: ethtool -K PEER gro on)"
                               : "");
    return {};
}

} // namespace olaf
