// SPDX-License-Identifier: BSD-2-Clause
// When a program that is loaded for one device may have grown (bpf/bound.bpf.h), or would.
#include <gtest/gtest.h>

#include "loader/datapath/object.hpp"
#include "loader/host/blinding.hpp"

namespace olaf::test::growth_test {
namespace {

/// Pages of 4 KiB that a program takes behind a header of so many bytes.
std::size_t pages(std::size_t instructions, std::size_t header) {
    return (header + 8 * instructions + 4095) / 4096;
}

TEST(Outgrows, NoProgramThatNeedsMorePagesThanItWasBroughtInWhateverTheirHeader) {
    for (std::size_t header = 56; header <= 256; header += 8)
        for (std::size_t brought = 1; brought < 2 * 512; brought++) {
            EXPECT_FALSE(outgrows({brought, brought}));
            for (std::size_t became = 1; became < 3 * 512; became += 7)
                if (pages(became, header) > pages(brought, header)) {
                    ASSERT_TRUE(outgrows({brought, became})) << brought << " " << became;
                }
        }
}

TEST(Outgrows, AProgramThatTheKernelShortenedDidNot) {
    EXPECT_FALSE(outgrows({2, 1}));
    EXPECT_FALSE(outgrows({10000, 9000}));
}

/// A kernel that doesn't tell: not what isn't known to be safe.
TEST(Outgrows, AProgramOfUnknownLengthMayHave) {
    EXPECT_TRUE(outgrows({2, 0}));
}

TEST(Blinding, IsToldByTheKernelsSetting) {
    EXPECT_EQ(blinding("0", std::nullopt), "");
    EXPECT_EQ(blinding("1", std::nullopt), "net.core.bpf_jit_harden is 1");
    EXPECT_EQ(blinding("2", std::nullopt), "net.core.bpf_jit_harden is 2");
    EXPECT_EQ(blinding("2", 0), "net.core.bpf_jit_harden is 2");
}

/// In other network namespaces than the first the setting can't be read.
TEST(Blinding, IsToldByWhatBecomesOfAProgramWhereTheSettingCantBeRead) {
    EXPECT_EQ(blinding("", 0), "");
    EXPECT_EQ(blinding("", 2), "net.core.bpf_jit_harden isn't 0");
    EXPECT_EQ(blinding("", std::nullopt),
              "whether net.core.bpf_jit_harden is 0 can't be known here");
}

} // namespace
} // namespace olaf::test::growth_test
