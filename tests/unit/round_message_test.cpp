// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "round_message.hpp"

namespace olaf::test::round_message_test {
namespace {

using olaf::Reject;

std::vector<std::byte> bytes_of(const std::string &hex) {
    std::vector<std::byte> bytes;
    for (std::size_t i = 0; i < hex.size(); i += 2)
        bytes.push_back(static_cast<std::byte>(std::stoi(hex.substr(i, 2), nullptr, 16)));
    return bytes;
}

std::vector<std::byte> bytes_of(const olaf_header &header, std::size_t lanes = 0) {
    std::vector<std::byte> bytes(olaf::message_size(lanes));
    std::memcpy(bytes.data(), &header, sizeof(header));
    return bytes;
}

// Written down from the tables of docs/rounds.md.
const std::string kContribution = "01af010401910002a1a2a3a4000000b1c1c2c3c400000003"
                                  "112233445566778800000004000000051f2f3f4ffff00000";
const std::string kResult = "01af010500310002a1a2a3a4000000b1c1c2c3c400000003"
                            "112233445566778800000004000000051f2f3f4ffff00600";
const std::string kSync = "01af010300000000a1a2a3a4000000b1c1c2c3c400000002"
                          "112233445566778800000004000000001f2f3f4f00001000";
const std::string kWait = "01af010310000000a1a2a3a4000000b1c1c2c3c400000002"
                          "112233445566778800000004000000071f2f3f4f00011000";

const olaf::RoundContribution kGoldenContribution = {.job = 0xa1a2a3a4,
                                                     .rank = 0xb1,
                                                     .round = 0xc1c2c3c4,
                                                     .count = 3,
                                                     .generated_ns = 0x1122334455667788,
                                                     .chunk = 4,
                                                     .chunks = 5,
                                                     .generation = 0x1f2f3f4f,
                                                     .exponent = -16,
                                                     .lanes = 2,
                                                     .format = olaf::Format::i16x4,
                                                     .has_checksum = true,
                                                     .partial = true,
                                                     .flush = true};
const olaf::RoundResult kGoldenResult = {.job = 0xa1a2a3a4,
                                         .rank = 0xb1,
                                         .round = 0xc1c2c3c4,
                                         .count = 3,
                                         .generated_ns = 0x1122334455667788,
                                         .chunk = 4,
                                         .chunks = 5,
                                         .generation = 0x1f2f3f4f,
                                         .exponent = -16,
                                         .pool = 6,
                                         .lanes = 2,
                                         .has_checksum = true,
                                         .partial = true,
                                         .late = true};
const olaf::JobSync kGoldenSync = {.job = 0xa1a2a3a4,
                                   .rank = 0xb1,
                                   .round = 0xc1c2c3c4,
                                   .chunk = 4,
                                   .stamp = 0x1122334455667788,
                                   .generation = 0x1f2f3f4f,
                                   .pool = 16};

TEST(RoundMessage, HeadersAreTheGoldenBytes) {
    olaf::JobSync wait = kGoldenSync;
    wait.answer = true;
    wait.status = OLAF_CONTROL_WAIT;
    wait.missing = 7;
    EXPECT_EQ(bytes_of(encode(kGoldenContribution)), bytes_of(kContribution));
    EXPECT_EQ(bytes_of(encode(kGoldenResult)), bytes_of(kResult));
    EXPECT_EQ(bytes_of(encode(kGoldenSync)), bytes_of(kSync));
    EXPECT_EQ(bytes_of(encode(wait)), bytes_of(kWait));
}

TEST(RoundMessage, WhatIsDecodedIsWhatWasEncoded) {
    const auto contribution = olaf::decode_contribution(bytes_of(encode(kGoldenContribution), 2));
    ASSERT_TRUE(contribution);
    EXPECT_EQ(bytes_of(encode(*contribution)), bytes_of(kContribution));
    const auto result = olaf::decode_result(bytes_of(encode(kGoldenResult), 2));
    ASSERT_TRUE(result);
    EXPECT_EQ(bytes_of(encode(*result)), bytes_of(kResult));
    const auto wait = olaf::decode_sync(bytes_of(kWait));
    ASSERT_TRUE(wait);
    EXPECT_EQ(bytes_of(encode(*wait)), bytes_of(kWait));
    EXPECT_TRUE(wait->answer);
}

TEST(RoundMessage, AQuestionMayBePadded) {
    olaf::JobSync padded = kGoldenSync;
    padded.padding = 2;
    EXPECT_EQ(olaf::decode_sync(bytes_of(encode(padded), 2)).value().padding, 2);
    EXPECT_EQ(olaf::decode_sync(bytes_of(kSync)).value().padding, 0);
    EXPECT_EQ(olaf::decode_sync(bytes_of(encode(padded), 1)).error(), Reject::wrong_length);
}

TEST(RoundMessage, ProbesAndStaleResultsHaveNoLanes) {
    olaf::RoundContribution probe = kGoldenContribution;
    probe.lanes = 0;
    EXPECT_TRUE(olaf::decode_contribution(bytes_of(encode(probe))));
    olaf::RoundResult stale = kGoldenResult;
    stale.lanes = 0;
    EXPECT_EQ(olaf::decode_result(bytes_of(encode(stale))).error(), Reject::wrong_lanes);
    stale.stale = true;
    stale.count = 0; // the generation that was named, here none
    EXPECT_TRUE(olaf::decode_result(bytes_of(encode(stale))));
    stale.lanes = 2;
    EXPECT_EQ(olaf::decode_result(bytes_of(encode(stale), 2)).error(), Reject::wrong_lanes);
}

TEST(RoundMessage, MalformedOnesAreRejectedForTheirReason) {
    const auto reject = [](auto change) {
        olaf::RoundResult result = kGoldenResult;
        change(result);
        const auto decoded = olaf::decode_result(bytes_of(encode(result), result.lanes));
        return decoded ? std::string("none") : std::string(name(decoded.error()));
    };
    EXPECT_EQ(reject([](auto &) {}), "none");
    EXPECT_EQ(reject([](auto &r) { r.count = 0; }), "wrong_count");
    EXPECT_EQ(reject([](auto &r) { r.chunk = 5; }), "wrong_segment");
    EXPECT_EQ(reject([](auto &r) { r.lanes = 1; }), "wrong_lanes");
    EXPECT_EQ(reject([](auto &r) { r.pool = 18; }), "wrong_count");
    EXPECT_EQ(reject([](auto &r) { r.format = olaf::Format::f32x2; }), "wrong_format");
    EXPECT_EQ(reject([](auto &r) { r.format = static_cast<olaf::Format>(9); }), "wrong_format");

    const auto contribution = bytes_of(encode(kGoldenContribution), 2);
    EXPECT_EQ(olaf::decode_result(contribution).error(), Reject::wrong_type);
    EXPECT_EQ(olaf::decode_contribution(std::span(contribution).first(63)).error(),
              Reject::wrong_length);
    EXPECT_EQ(olaf::decode_contribution(std::span(contribution).first(47)).error(),
              Reject::too_short);

    auto sync = bytes_of(kSync);
    EXPECT_TRUE(olaf::decode_sync(sync));
    sync[23] = std::byte{OLAF_CONTROL_LEAVE};
    EXPECT_EQ(olaf::decode_sync(sync)->action, OLAF_CONTROL_LEAVE);
    sync[23] = std::byte{OLAF_CONTROL_SETH}; // no endpoint sends it
    EXPECT_EQ(olaf::decode_sync(sync).error(), Reject::wrong_type);
    sync = bytes_of(kSync);
    sync[45] = std::byte{4}; // of orders that no endpoint sends
    EXPECT_EQ(olaf::decode_sync(sync).error(), Reject::wrong_count);
    sync = bytes_of(kSync);
    sync[46] = std::byte{18}; // p
    EXPECT_EQ(olaf::decode_sync(sync).error(), Reject::wrong_count);
}

} // namespace
} // namespace olaf::test::round_message_test
