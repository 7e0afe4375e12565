// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include <olaf/message.hpp>

namespace olaf::test::message_test {
namespace {

using olaf::Reject;

std::vector<std::byte> bytes_of(const std::string &hex) {
    std::vector<std::byte> bytes;
    for (std::size_t i = 0; i < hex.size(); i += 2)
        bytes.push_back(static_cast<std::byte>(std::stoi(hex.substr(i, 2), nullptr, 16)));
    return bytes;
}

// A message with that header and as many zero lanes as it says.
template <class Message> std::vector<std::byte> message_of(const Message &message, int lanes) {
    const olaf_header header = olaf::encode(message);
    std::vector<std::byte> bytes(olaf::message_size(static_cast<std::size_t>(lanes)));
    std::memcpy(bytes.data(), &header, sizeof(header));
    return bytes;
}

// Packed by Python's struct module from the tables of docs/protocol.md.
const std::string kUpdate = "01af010101030123a1a2a3a4b1b2b3b4c1c2c3c400000003"
                            "1122334455667788fffffffffffe8000d1d2d3d400050007";
const std::string kAck = "01af0102030c0010a1a2a3a4ffffffffc1c2c3c409100000"
                         "11223344556677880000000800000007d1d2d3d400010002";
const std::string kJoin = "01af010300000000a1a2a3a4b1b2b3b4c1c2c3c400000001"
                          "112233445566778800000000000000000000000000000001";

const olaf::Update kGoldenUpdate = {.cluster = 0xa1a2a3a4,
                                    .worker = 0xb1b2b3b4,
                                    .sequence = 0xc1c2c3c4,
                                    .count = 3,
                                    .generated_ns = 0x1122334455667788,
                                    .reward = -0x18000, // −1.5
                                    .model_version = 0xd1d2d3d4,
                                    .segment = 5,
                                    .segments = 7,
                                    .lanes = 0x123,
                                    .format = olaf::Format::i16x4,
                                    .has_checksum = true};

TEST(Message, HeadersAreTheGoldenBytes) {
    const auto header_bytes = [](const olaf_header &header) {
        std::vector<std::byte> bytes(sizeof(header));
        std::memcpy(bytes.data(), &header, sizeof(header));
        return bytes;
    };
    EXPECT_EQ(header_bytes(olaf::encode(kGoldenUpdate)), bytes_of(kUpdate));
    EXPECT_EQ(header_bytes(olaf::encode(olaf::Ack{.cluster = 0xa1a2a3a4,
                                                  .worker = OLAF_EVERY_WORKER,
                                                  .sequence = 0xc1c2c3c4,
                                                  .generated_ns = 0x1122334455667788,
                                                  .active_clusters = 0x910,
                                                  .queue_capacity = 8,
                                                  .queue_length = 7,
                                                  .model_version = 0xd1d2d3d4,
                                                  .segment = 1,
                                                  .segments = 2,
                                                  .lanes = 0x10,
                                                  .stamped = true,
                                                  .congested = true})),
              bytes_of(kAck));
    EXPECT_EQ(header_bytes(olaf::encode(olaf::Join{.cluster = 0xa1a2a3a4,
                                                   .worker = 0xb1b2b3b4,
                                                   .sequence = 0xc1c2c3c4,
                                                   .generated_ns = 0x1122334455667788})),
              bytes_of(kJoin));
}

TEST(Message, GoldenBytesDecode) {
    auto bytes = bytes_of(kUpdate);
    bytes.resize(olaf::message_size(0x123));
    const auto update = olaf::decode_update(bytes);
    ASSERT_TRUE(update);
    EXPECT_EQ(update->reward, -0x18000);
    EXPECT_DOUBLE_EQ(olaf::mean_reward(update->reward, update->count), -0.5);
    // Every field, by encoding again.
    const olaf_header again = olaf::encode(*update);
    EXPECT_EQ(std::memcmp(&again, bytes.data(), sizeof(again)), 0);

    bytes = bytes_of(kAck);
    bytes.resize(olaf::message_size(0x10));
    const auto ack = olaf::decode_ack(bytes);
    ASSERT_TRUE(ack);
    EXPECT_EQ(ack->active_clusters, 0x910);
    EXPECT_TRUE(ack->stamped && ack->congested && !ack->has_checksum);
    const olaf_header ack_again = olaf::encode(*ack);
    EXPECT_EQ(std::memcmp(&ack_again, bytes.data(), sizeof(ack_again)), 0);

    const auto join = olaf::decode_join(bytes_of(kJoin));
    ASSERT_TRUE(join);
    EXPECT_EQ(join->worker, 0xb1b2b3b4);
}

TEST(Message, UnknownFlagsAreIgnored) {
    auto bytes = message_of(olaf::Update{.lanes = 4}, 4);
    bytes[4] |= std::byte{0xf0};
    bytes[5] |= std::byte{0xf0};
    EXPECT_TRUE(olaf::decode_update(bytes));
}

struct Damage {
    const char *name;
    std::size_t offset;
    unsigned char value;
    Reject reason;
};

class DamagedUpdate : public testing::TestWithParam<Damage> {};
INSTANTIATE_TEST_SUITE_P(Fields, DamagedUpdate,
                         testing::Values(Damage{"magic", 0, 0x02, Reject::wrong_magic},
                                         Damage{"magic_low", 1, 0xae, Reject::wrong_magic},
                                         Damage{"version", 2, 2, Reject::wrong_version},
                                         Damage{"type_zero", 3, 0, Reject::wrong_type},
                                         Damage{"type_unknown", 3, 4, Reject::wrong_type},
                                         Damage{"type_ack", 3, OLAF_ACK, Reject::wrong_type},
                                         Damage{"format_float", 4, OLAF_FORMAT_F32X2,
                                                Reject::wrong_format},
                                         Damage{"format_unknown", 4, 9, Reject::wrong_format},
                                         Damage{"lanes_more", 7, 5, Reject::wrong_length},
                                         Damage{"lanes_fewer", 7, 3, Reject::wrong_length},
                                         Damage{"lanes_many", 6, 0xff, Reject::wrong_length},
                                         Damage{"count_zero", 23, 0, Reject::wrong_count},
                                         Damage{"segment_beyond", 45, 1, Reject::wrong_segment},
                                         Damage{"segments_zero", 47, 0, Reject::wrong_segment}),
                         [](const auto &info) { return std::string(info.param.name); });

TEST_P(DamagedUpdate, IsRejectedForItsReason) {
    auto bytes = message_of(olaf::Update{.lanes = 4}, 4);
    ASSERT_TRUE(olaf::decode_update(bytes));
    bytes[GetParam().offset] = std::byte{GetParam().value};
    const auto decoded = olaf::decode_update(bytes);
    ASSERT_FALSE(decoded);
    EXPECT_EQ(decoded.error(), GetParam().reason) << olaf::name(decoded.error());
}

TEST(Message, EveryOtherLengthIsRejected) {
    const auto whole = message_of(olaf::Update{.lanes = 4}, 4);
    for (std::size_t size = 0; size < whole.size(); size++) {
        const auto decoded = olaf::decode_update(std::span(whole).first(size));
        ASSERT_FALSE(decoded);
        EXPECT_EQ(decoded.error(), size < 48 ? Reject::too_short : Reject::wrong_length) << size;
    }
    auto longer = whole;
    longer.resize(whole.size() + 1);
    EXPECT_EQ(olaf::decode_update(longer).error(), Reject::wrong_length);
}

TEST(Message, LanesMustHoldMoreThanTheChecksum) {
    EXPECT_EQ(olaf::decode_update(message_of(olaf::Update{.lanes = 1}, 1)).error(),
              Reject::wrong_lanes);
    EXPECT_TRUE(
        olaf::decode_update(message_of(olaf::Update{.lanes = 1, .has_checksum = false}, 1)));
    EXPECT_TRUE(olaf::decode_ack(message_of(olaf::Ack{.lanes = 0}, 0)));
    EXPECT_EQ(olaf::decode_ack(message_of(olaf::Ack{.lanes = 1, .has_checksum = true}, 1)).error(),
              Reject::wrong_lanes);
}

TEST(Message, RewardsSaturateWhereSumsStillFit) {
    EXPECT_EQ(olaf::to_reward(1.5, 256), 0x18000);
    EXPECT_EQ(olaf::to_reward(-1.0 / 65536, 256), -1);
    for (const std::uint32_t max_count : {1U, 3U, 256U, 65535U}) {
        const std::int64_t most = olaf::to_reward(1e300, max_count);
        const std::int64_t least = olaf::to_reward(-1e300, max_count);
        EXPECT_GT(most, 0);
        EXPECT_EQ(least, -most);
        std::int64_t sum = 0;
        EXPECT_FALSE(__builtin_mul_overflow(most, static_cast<std::int64_t>(max_count), &sum));
        EXPECT_DOUBLE_EQ(olaf::mean_reward(sum, max_count), static_cast<double>(most) / 65536.0);
    }
    EXPECT_EQ(olaf::to_reward(std::nan(""), 256), olaf::to_reward(-1e300, 256));
}

} // namespace
} // namespace olaf::test::message_test
