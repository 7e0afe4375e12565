// SPDX-License-Identifier: BSD-2-Clause
// Blocks of pcapng, byte by byte where a reader would stumble.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "loader/observe/pcapng.hpp"

namespace olaf::test::pcapng_test {
namespace {

using namespace olaf;

std::uint32_t word(const std::string &block, std::size_t at) {
    std::uint32_t value = 0;
    std::memcpy(&value, block.data() + at, sizeof value);
    return value;
}

void expect_framed(const std::string &block, std::uint32_t type) {
    ASSERT_GE(block.size(), 12u);
    EXPECT_EQ(block.size() % 4, 0u);
    EXPECT_EQ(word(block, 0), type);
    EXPECT_EQ(word(block, 4), block.size());
    EXPECT_EQ(word(block, block.size() - 4), block.size());
}

TEST(Pcapng, EveryBlockIsFramedByItsLength) {
    expect_framed(pcapng::section_header("olaf"), 0x0a0d0d0a);
    expect_framed(pcapng::interface_description("eth0", 2048), 1);
    expect_framed(pcapng::interface_statistics(0, 1, 2, 3), 5);
    EXPECT_EQ(word(pcapng::section_header("olaf"), 8), 0x1a2b3c4du);
}

TEST(Pcapng, APacketHasItsTimeItsBytesAndItsReason) {
    const std::vector<std::uint8_t> bytes{1, 2, 3, 4, 5};
    const auto block = pcapng::packet({.time_ns = 0x123456789abcdef0,
                                       .interface = 1,
                                       .outbound = true,
                                       .length = 900,
                                       .bytes = bytes,
                                       .comment = "why"});
    expect_framed(block, 6);
    EXPECT_EQ(word(block, 8), 1u);
    EXPECT_EQ(word(block, 12), 0x12345678u); // the high half first
    EXPECT_EQ(word(block, 16), 0x9abcdef0u);
    EXPECT_EQ(word(block, 20), 5u);
    EXPECT_EQ(word(block, 24), 900u);
    EXPECT_EQ(block.substr(28, 5), std::string("\1\2\3\4\5"));
    EXPECT_EQ(word(block, 36), 1u | 3u << 16); // a comment of three bytes
    EXPECT_EQ(block.substr(40, 3), "why");
    EXPECT_EQ(word(block, 44), 2u | 4u << 16); // flags
    EXPECT_EQ(word(block, 48), 2u);            // outbound
    EXPECT_EQ(word(block, 52), 0u);            // end of options
}

} // namespace
} // namespace olaf::test::pcapng_test
