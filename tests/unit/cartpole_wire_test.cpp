// SPDX-License-Identifier: BSD-2-Clause
#include "wire.hpp"

#include "actor.hpp"

#include <gtest/gtest.h>

namespace olaf::cartpole {
namespace {

TEST(CartPoleWire, NoGradientEverSaturates) {
    Parameters gradient = Parameters::Zero();
    gradient[0] = ActorOptions{}.clip; // the worst case: all of the norm in one element
    gradient[1] = -ActorOptions{}.clip;
    for (const auto &[name, format] : kFormatNames) {
        const Packing packing = packing_for(format);
        ASSERT_TRUE(validate(packing)) << name;
        std::vector<std::uint64_t> lanes(lanes_for(format, kParameters));
        const auto report = pack(packing, {gradient.data(), kParameters}, lanes);
        ASSERT_TRUE(report) << name;
        EXPECT_EQ(report->clipped, 0U) << name;
    }
}

} // namespace
} // namespace olaf::cartpole
