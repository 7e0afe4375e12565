// SPDX-License-Identifier: BSD-2-Clause
#include "wire.hpp"

#include "actor.hpp"

#include <gtest/gtest.h>

namespace olaf::cartpole {
namespace {

TEST(CartPoleWire, ReadsAddresses) {
    const auto text = [](const std::string &address) { return parse_address(address)->text(); };
    EXPECT_EQ(text("192.0.2.1"), "192.0.2.1:6523");
    EXPECT_EQ(text("192.0.2.1:99"), "192.0.2.1:99");
    EXPECT_EQ(text("2001:db8::1"), "[2001:db8::1]:6523");
    EXPECT_EQ(text("[2001:db8::1]"), "[2001:db8::1]:6523");
    EXPECT_EQ(text("[2001:db8::1]:99"), "[2001:db8::1]:99");
}

TEST(CartPoleWire, RefusesOtherPorts) {
    for (const char *address : {"192.0.2.1:", "192.0.2.1:x", "192.0.2.1:70000", "[::1]:1x"}) {
        const auto parsed = parse_address(address);
        ASSERT_FALSE(parsed) << address;
        EXPECT_NE(parsed.error().message().find("port"), std::string::npos) << address;
    }
}

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
