// SPDX-License-Identifier: BSD-2-Clause
// What the kernel says of itself.
#include "loader/host/host.hpp"

#include <gtest/gtest.h>

namespace olaf::test::host_test {
namespace {

TEST(PreemptRt, IsToldByItsFileOrByTheVersionsText) {
    EXPECT_TRUE(tells_preempt_rt("1", ""));
    EXPECT_TRUE(tells_preempt_rt("", "#1 SMP PREEMPT_RT Debian 6.1.90-1 (2024-05-03)"));
    EXPECT_TRUE(tells_preempt_rt("", "#1 SMP PREEMPT RT Debian 4.19.0"));
}

TEST(PreemptRt, OtherKindsOfPreemptionAreNone) {
    EXPECT_FALSE(tells_preempt_rt("0", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.90-1 (2024-05-03)"));
    EXPECT_FALSE(tells_preempt_rt("", "#1 SMP PREEMPT Debian"));
    EXPECT_FALSE(tells_preempt_rt("", ""));
}

} // namespace
} // namespace olaf::test::host_test
