// SPDX-License-Identifier: BSD-2-Clause
// The packet builder against frames made by another tool (golden/make.py, scapy).
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "packet.hpp"

namespace olaf::test::packet_test {
namespace {

struct Golden {
    const char *name;
    Frame frame;
};

void PrintTo(const Golden &golden, std::ostream *out) { *out << golden.name; }

class PacketGolden : public testing::TestWithParam<Golden> {};

std::string golden_hex(const std::string &name) {
    std::ifstream file(std::string(OLAF_GOLDEN_DIR) + "/" + name + ".hex");
    std::string text, line;
    while (std::getline(file, line))
        text += line;
    return text;
}

TEST_P(PacketGolden, EqualsTheFrameOfAnotherTool) {
    EXPECT_EQ(hex(GetParam().frame.bytes), golden_hex(GetParam().name));
}

INSTANTIATE_TEST_SUITE_P(
    Frames, PacketGolden,
    testing::Values(
        Golden{"ipv4", ipv4().carrying(Update{})},
        Golden{"ipv4_vlan", ipv4().vlan(7).carrying(Update{.cluster = 3, .reward = -65536})},
        Golden{"ipv4_qinq", ipv4().service_vlan(100).vlan(7).carrying(
                                Update{.count = 5,
                                       .extra_flags = OLAF_FLAG_AGGREGATED,
                                       .lanes = {~0ull, 1ull << 63}})},
        Golden{"ipv4_options", ipv4().options(8).carrying(
                                   Update{.format = OLAF_FORMAT_I16X4, .checksum = false})},
        Golden{"ipv6", ipv6().carrying(
                           Update{.segment = 2, .segments = 9, .format = OLAF_FORMAT_I64X1})},
        Golden{"ipv6_extensions",
               ipv6().vlan(7).hop_by_hop().destination_options().carrying(Update{})},
        Golden{"ipv4_ack", ipv4().carrying(Ack{.cluster = 9, .lanes = {0x3f8000003f800000}})}),
    [](const auto &info) { return std::string(info.param.name); });

TEST(PacketParser, ReadsBackWhatTheBuilderWrote) {
    Update update{.cluster = 7,
                  .worker = 8,
                  .sequence = 9,
                  .count = 3,
                  .generated_ns = 1ull << 60,
                  .reward = -1,
                  .model_version = 10,
                  .segment = 1,
                  .segments = 2,
                  .format = OLAF_FORMAT_I16X4,
                  .extra_flags = OLAF_FLAG_AGGREGATED,
                  .lanes = {5, ~0ull}};
    for (const auto &path : {ipv4(), ipv6(), ipv4().vlan(1).options(40), ipv6().routing(24)}) {
        auto received = parse_update(path.carrying(update).bytes);
        ASSERT_TRUE(received);
        EXPECT_EQ(received->update, update);
    }
}

TEST(PacketParser, NamesWhatIsWrong) {
    Frame good = ipv4().carrying(Update{});
    std::string why;
    EXPECT_FALSE(parse_update(with(good, good.l3 + 10, 1, 2).bytes, &why));
    EXPECT_EQ(why, "IPv4 header checksum");
    EXPECT_FALSE(parse_update(with(good, good.l4 + 6, 1, 2).bytes, &why));
    EXPECT_EQ(why, "UDP checksum");
    Frame summed = ipv4().without_udp_checksum().carrying(Update{});
    EXPECT_FALSE(parse_update(with(summed, summed.message + 48, 1, 8).bytes, &why));
    EXPECT_EQ(why, "checksum lane");
    EXPECT_FALSE(parse_update(truncated(good, good.size() - 1).bytes, &why));
    EXPECT_EQ(why, "IP packet cut or too short");
}

} // namespace
} // namespace olaf::test::packet_test
