// SPDX-License-Identifier: BSD-2-Clause
// Messages of updates and of rounds, byte by byte.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <olaf/message.hpp>
#include <olaf/segments.hpp>

#include "endpoints/wire/round_message.hpp"

namespace olaf::test::message_test {
namespace {

std::vector<std::byte> bytes_of(const std::string &hex) {
    std::vector<std::byte> bytes;
    for (std::size_t i = 0; i < hex.size(); i += 2)
        bytes.push_back(static_cast<std::byte>(std::stoi(hex.substr(i, 2), nullptr, 16)));
    return bytes;
}

// A message with that header and so many zero lanes.
std::vector<std::byte> bytes_of(const olaf_header &header, std::size_t lanes = 0) {
    std::vector<std::byte> bytes(message_size(lanes));
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

const Update kGoldenUpdate = {.cluster = 0xa1a2a3a4,
                              .worker = 0xb1b2b3b4,
                              .sequence = 0xc1c2c3c4,
                              .count = 3,
                              .generated_ns = 0x1122334455667788,
                              .reward = -0x18000, // −1.5
                              .model_version = 0xd1d2d3d4,
                              .segment = 5,
                              .segments = 7,
                              .lanes = 0x123,
                              .format = Format::i16x4,
                              .has_checksum = true};

const Ack kGoldenAck = {.cluster = 0xa1a2a3a4,
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
                        .congested = true};
const Join kGoldenJoin = {.cluster = 0xa1a2a3a4,
                          .worker = 0xb1b2b3b4,
                          .sequence = 0xc1c2c3c4,
                          .generated_ns = 0x1122334455667788};

/// The message is encoded as those bytes, and decoded from them as itself: encoded again it is the
/// same.
template <class Golden, class Decode>
void expect_golden(const Golden &golden, const std::string &hex, std::size_t lanes, Decode decode) {
    EXPECT_EQ(bytes_of(encode(golden)), bytes_of(hex));
    auto bytes = bytes_of(hex);
    bytes.resize(message_size(lanes));
    const auto decoded = decode(bytes);
    ASSERT_TRUE(decoded) << name(decoded.error());
    EXPECT_EQ(bytes_of(encode(*decoded)), bytes_of(hex));
}

TEST(Message, IsTheGoldenBytesBothWays) {
    expect_golden(kGoldenUpdate, kUpdate, 0x123, decode_update);
    expect_golden(kGoldenAck, kAck, 0x10, decode_ack);
    expect_golden(kGoldenJoin, kJoin, 0, decode_join);
    EXPECT_DOUBLE_EQ(mean_reward(kGoldenUpdate.reward, kGoldenUpdate.count), -0.5);
}

TEST(Message, UnknownFlagsAreIgnored) {
    auto bytes = bytes_of(encode(Update{.lanes = 4}), 4);
    bytes[4] |= std::byte{0xf0};
    bytes[5] |= std::byte{0xf0};
    EXPECT_TRUE(decode_update(bytes));
}

TEST(Message, ADamagedUpdateIsRejectedForItsReason) {
    const struct {
        const char *field;
        std::size_t offset;
        unsigned char value;
        Reject reason;
    } damages[] = {{"magic", 0, 0x02, Reject::wrong_magic},
                   {"low byte of the magic", 1, 0xae, Reject::wrong_magic},
                   {"version", 2, 2, Reject::wrong_version},
                   {"type 0", 3, 0, Reject::wrong_type},
                   {"a job's type", 3, 4, Reject::wrong_version},
                   {"an ACK's type", 3, OLAF_ACK, Reject::wrong_type},
                   {"floats", 4, OLAF_FORMAT_F32X2, Reject::wrong_format},
                   {"unknown format", 4, 9, Reject::wrong_format},
                   {"more lanes", 7, 5, Reject::wrong_length},
                   {"fewer lanes", 7, 3, Reject::wrong_length},
                   {"many lanes", 6, 0xff, Reject::wrong_length},
                   {"count 0", 23, 0, Reject::wrong_count},
                   {"segment beyond the last", 45, 1, Reject::wrong_segment},
                   {"no segments", 47, 0, Reject::wrong_segment}};
    for (const auto &[field, offset, value, reason] : damages) {
        SCOPED_TRACE(field);
        auto bytes = bytes_of(encode(Update{.lanes = 4}), 4);
        ASSERT_TRUE(decode_update(bytes));
        bytes[offset] = std::byte{value};
        const auto decoded = decode_update(bytes);
        ASSERT_FALSE(decoded);
        EXPECT_EQ(decoded.error(), reason) << name(decoded.error());
    }
}

TEST(Message, EveryOtherLengthIsRejected) {
    const auto whole = bytes_of(encode(Update{.lanes = 4}), 4);
    for (std::size_t size = 0; size < whole.size(); size++) {
        const auto decoded = decode_update(std::span(whole).first(size));
        ASSERT_FALSE(decoded);
        EXPECT_EQ(decoded.error(), size < 48 ? Reject::too_short : Reject::wrong_length) << size;
    }
    auto longer = whole;
    longer.resize(whole.size() + 1);
    EXPECT_EQ(decode_update(longer).error(), Reject::wrong_length);
}

TEST(Message, LanesMustHoldMoreThanTheChecksum) {
    EXPECT_EQ(decode_update(bytes_of(encode(Update{.lanes = 1}), 1)).error(), Reject::wrong_lanes);
    const auto whole = encode(Update{.lanes = 1, .has_checksum = false});
    EXPECT_TRUE(decode_update(bytes_of(whole, 1)));
    EXPECT_TRUE(decode_ack(bytes_of(encode(Ack{.lanes = 0}))));
    const auto none = encode(Ack{.lanes = 1, .has_checksum = true});
    EXPECT_EQ(decode_ack(bytes_of(none, 1)).error(), Reject::wrong_lanes);
}

TEST(Message, RewardsSaturateWhereSumsStillFit) {
    EXPECT_EQ(to_reward(1.5, 256), 0x18000);
    EXPECT_EQ(to_reward(-1.0 / 65536, 256), -1);
    for (const std::uint32_t max_count : {1U, 3U, 256U, 65535U}) {
        const std::int64_t most = to_reward(1e300, max_count);
        const std::int64_t least = to_reward(-1e300, max_count);
        EXPECT_GT(most, 0);
        EXPECT_EQ(least, -most);
        std::int64_t sum = 0;
        EXPECT_FALSE(__builtin_mul_overflow(most, static_cast<std::int64_t>(max_count), &sum));
        EXPECT_DOUBLE_EQ(mean_reward(sum, max_count), static_cast<double>(most) / 65536.0);
    }
    EXPECT_EQ(to_reward(std::nan(""), 256), to_reward(-1e300, 256));
}

// Written down from the tables of docs/rounds.md.
const std::string kContribution = "01af020401910002a1a2a3a40d0e00b1c1c2c3c481230003"
                                  "112233445566778800000004000000051f2f3f4ffff00085";
const std::string kResult = "01af020500310002a1a2a3a40d0e00b1c1c2c3c481230003"
                            "112233445566778800000004000000051f2f3f4ffff00686";
const std::string kMisfit = "01af020580310002a1a2a3a40d0e00b1c1c2c3c481230003"
                            "00000005000d412300000004000000051f2f3f4ffff00660";
const std::string kSync = "01af020300000004a1a2a3a4000000b1c1c2c3c400000002"
                          "112233445566778800000004000000001f2f3f4f00001020"
                          "d8d7d6d5d4d3d2d1e8e7e6e5e4e3e2e1f8f7f6f5f4f3f2f10807060504030201";
const std::string kWait = "01af020310100004a1a2a3a4000000b1c1c2c3c400000002"
                          "112233445566778800000004000000071f2f3f4f00011019"
                          "d8d7d6d5d4d3d2d1e8e7e6e5e4e3e2e1f8f7f6f5f4f3f2f10807060504030201";

constexpr VectorKind kGoldenKind = {
    .workers = 0x0d0e, .content = OLAF_CONTENT_FLOAT_MEAN, .last = 0x123};
const RoundContribution kGoldenContribution = {.job = 0xa1a2a3a4,
                                               .rank = 0xb1,
                                               .round = 0xc1c2c3c4,
                                               .count = 3,
                                               .generated_ns = 0x1122334455667788,
                                               .chunk = 4,
                                               .chunks = 5,
                                               .kind = kGoldenKind,
                                               .generation = 0x1f2f3f4f,
                                               .exponent = -16,
                                               .lanes = 2,
                                               .format = Format::i16x4,
                                               .has_checksum = true,
                                               .partial = true,
                                               .flush = true};
const RoundResult kGoldenResult = {.job = 0xa1a2a3a4,
                                   .rank = 0xb1,
                                   .round = 0xc1c2c3c4,
                                   .count = 3,
                                   .generated_ns = 0x1122334455667788,
                                   .chunk = 4,
                                   .chunks = 5,
                                   .kind = kGoldenKind,
                                   .generation = 0x1f2f3f4f,
                                   .exponent = -16,
                                   .pool = 6,
                                   .lanes = 2,
                                   .has_checksum = true,
                                   .partial = true,
                                   .late = true};
const JobSync kGoldenSync = {.job = 0xa1a2a3a4,
                             .rank = 0xb1,
                             .round = 0xc1c2c3c4,
                             .chunk = 4,
                             .stamp = 0x1122334455667788,
                             .generation = 0x1f2f3f4f,
                             .pool = 16,
                             .incarnation = 0xd1d2d3d4d5d6d7d8,
                             .session = 0xe1e2e3e4e5e6e7e8,
                             .run = {.training = 0xf1f2f3f4f5f6f7f8, .number = 0x0102030405060708}};

/// The message with its lanes.
std::vector<std::byte> whole(const JobSync &sync) {
    const auto lanes = lanes_of(sync);
    auto bytes = bytes_of(encode(sync), lanes.size());
    std::ranges::copy(std::as_bytes(std::span(lanes)), bytes.begin() + sizeof(olaf_header));
    return bytes;
}

TEST(RoundMessage, IsTheGoldenBytesBothWays) {
    JobSync wait = kGoldenSync;
    wait.answer = true;
    wait.status = OLAF_CONTROL_WAIT;
    wait.missing = 7;
    wait.anew = true;
    RoundResult misfit = kGoldenResult;
    misfit.misfit = VectorIdentity{
        .chunks = 5, .kind = {.workers = 13, .content = OLAF_CONTENT_INT64, .last = 0x123}};
    misfit.generated_ns = 0x5'000d'4123;
    expect_golden(kGoldenContribution, kContribution, 2, decode_contribution);
    expect_golden(kGoldenResult, kResult, 2, decode_result);
    expect_golden(misfit, kMisfit, 2, decode_result);
    for (const auto &[sync, hex] : {std::pair(kGoldenSync, kSync), {wait, kWait}}) {
        EXPECT_EQ(whole(sync), bytes_of(hex));
        EXPECT_EQ(whole(decode_sync(bytes_of(hex)).value()), bytes_of(hex));
    }
}

TEST(RoundMessage, AQuestionMayBePadded) {
    JobSync padded = kGoldenSync;
    padded.padding = 7;
    const auto bytes = whole(padded);
    EXPECT_EQ(bytes.size(), message_size(7));
    EXPECT_EQ(decode_sync(bytes).value().padding, 7);
    EXPECT_EQ(decode_sync(bytes).value().session, padded.session);
    EXPECT_EQ(decode_sync(bytes_of(kSync)).value().padding, kSyncLanes);
    EXPECT_EQ(decode_sync(std::span(bytes).first(message_size(6))).error(), Reject::wrong_length);
}

TEST(RoundMessage, OnlySyncAndJoinHaveASession) {
    for (const auto action : {OLAF_CONTROL_SYNC, OLAF_CONTROL_JOIN}) {
        JobSync sync = kGoldenSync;
        sync.action = action;
        EXPECT_EQ(decode_sync(whole(sync)).value().incarnation, sync.incarnation);
        for (const std::uint16_t lanes : {0, 1, 2, 3}) {
            olaf_header header = encode(sync);
            header.check ^= static_cast<__u8>(kSyncLanes ^ lanes) << 3; // of an even word's
            header.lanes_be = static_cast<__be16>(lanes << 8);
            EXPECT_EQ(decode_sync(bytes_of(header, lanes)).error(), Reject::wrong_lanes) << lanes;
        }
    }
    JobSync leave = kGoldenSync;
    leave.action = OLAF_CONTROL_LEAVE;
    EXPECT_EQ(whole(leave).size(), message_size(0));
    EXPECT_EQ(decode_sync(whole(leave)).value().session, 0U);
}

TEST(RoundMessage, AQuestionNamesARunAndOtherTellsWhoseTheJobIs) {
    JobSync nameless = kGoldenSync;
    nameless.run = {.training = 0, .number = 5};
    EXPECT_EQ(decode_sync(whole(nameless)).error(), Reject::wrong_lanes);
    nameless.answer = true;
    EXPECT_EQ(decode_sync(whole(nameless)).value().run.number, 5U) << "nobody may have the job";
    JobSync other = kGoldenSync;
    other.answer = true;
    other.status = OLAF_CONTROL_OTHER;
    other.missing = 3;
    other.session = 2'000'000'000;
    const JobSync told = decode_sync(whole(other)).value();
    EXPECT_EQ(told.missing, 3U);
    EXPECT_EQ(told.lanes, 0U);
    EXPECT_EQ(told.kept_for(), std::chrono::seconds(2));
    EXPECT_EQ(told.run.training, other.run.training);
    EXPECT_EQ(told.run.number, other.run.number);
}

TEST(RoundMessage, ProbesAndStaleResultsHaveNoLanes) {
    RoundContribution probe = kGoldenContribution;
    probe.lanes = 0;
    EXPECT_TRUE(decode_contribution(bytes_of(encode(probe))));
    RoundResult stale = kGoldenResult;
    stale.lanes = 0;
    EXPECT_EQ(decode_result(bytes_of(encode(stale))).error(), Reject::wrong_lanes);
    stale.stale = true;
    stale.count = 0; // the generation that was named, here none
    EXPECT_TRUE(decode_result(bytes_of(encode(stale))));
    stale.lanes = 2;
    EXPECT_EQ(decode_result(bytes_of(encode(stale), 2)).error(), Reject::wrong_lanes);
}

TEST(RoundMessage, MalformedOnesAreRejectedForTheirReason) {
    const auto reject = [](auto change) {
        RoundResult result = kGoldenResult;
        change(result);
        const auto decoded = decode_result(bytes_of(encode(result), result.lanes));
        return decoded ? std::string("none") : std::string(name(decoded.error()));
    };
    EXPECT_EQ(reject([](auto &) {}), "none");
    EXPECT_EQ(reject([](auto &r) { r.count = 0; }), "wrong_count");
    EXPECT_EQ(reject([](auto &r) { r.chunk = 5; }), "wrong_segment");
    EXPECT_EQ(reject([](auto &r) { r.lanes = 1; }), "wrong_lanes");
    EXPECT_EQ(reject([](auto &r) { r.pool = 18; }), "wrong_count");
    EXPECT_EQ(reject([](auto &r) { r.format = Format::f32x2; }), "wrong_format");
    EXPECT_EQ(reject([](auto &r) { r.format = static_cast<Format>(9); }), "wrong_format");

    const auto contribution = bytes_of(encode(kGoldenContribution), 2);
    EXPECT_EQ(decode_result(contribution).error(), Reject::wrong_type);
    EXPECT_EQ(decode_contribution(std::span(contribution).first(63)).error(), Reject::wrong_length);
    EXPECT_EQ(decode_contribution(std::span(contribution).first(47)).error(), Reject::too_short);

    const auto sync = bytes_of(kSync);
    EXPECT_TRUE(decode_sync(sync));
    const auto with = [&](std::size_t offset, unsigned char value) {
        auto changed = sync;
        changed[offset] = std::byte{value};
        const int turn = offset / 8 % 2 == 0 ? 3 : 0; // docs/rounds.md, "Damage"
        changed[47] ^= static_cast<std::byte>(
            std::rotl(static_cast<std::uint8_t>(changed[offset] ^ sync[offset]), turn));
        return changed;
    };
    EXPECT_EQ(decode_sync(with(23, OLAF_CONTROL_LEAVE))->action, OLAF_CONTROL_LEAVE);
    EXPECT_EQ(decode_sync(with(23, OLAF_CONTROL_RESET))->action, OLAF_CONTROL_RESET);
    EXPECT_EQ(decode_sync(with(45, OLAF_CONTROL_OVER))->status, OLAF_CONTROL_OVER);
    EXPECT_EQ(decode_sync(with(45, OLAF_CONTROL_OTHER))->status, OLAF_CONTROL_OTHER);
    EXPECT_EQ(decode_sync(with(45, 7)).error(), Reject::wrong_count); // no such status
    EXPECT_EQ(decode_sync(with(23, OLAF_CONTROL_SETH)).error(), Reject::wrong_type); // none sends it
    EXPECT_EQ(decode_sync(with(45, 4)).error(), Reject::wrong_count); // nor such orders
    EXPECT_EQ(decode_sync(with(46, 18)).error(), Reject::wrong_count); // p
    EXPECT_EQ(decode_sync(with(2, 1)).error(), Reject::wrong_version);
}

std::vector<std::uint64_t> random_lanes(std::size_t n, unsigned seed) {
    std::mt19937_64 random(seed);
    std::vector<std::uint64_t> lanes(n);
    for (std::uint64_t &lane : lanes)
        lane = random();
    return lanes;
}

TEST(Checksum, IsTheWeightedSumOfTheProtocol) {
    for (std::size_t n = 0; n < OLAF_MAX_LANES; n += n < 40 ? 1 : 37) {
        const auto lanes = random_lanes(n, 1);
        std::uint64_t expected = 0;
        for (std::size_t i = 0; i < n; i++)
            expected += (2 * i + 1) * lanes[i];
        EXPECT_EQ(checksum(lanes), expected) << n << " lanes";
    }
    const std::vector<std::uint64_t> lanes = {1, 10, 100};
    EXPECT_EQ(checksum(lanes), 1U + 30 + 500);
}

TEST(Checksum, SeesAnySingleChangedLane) {
    auto lanes = random_lanes(180, 4);
    lanes.back() = checksum(std::span(lanes).first(179));
    ASSERT_TRUE(checksum_matches(lanes));
    // Odd weights are invertible mod 2^64, so every change of one lane shows, even of
    // the top bit alone.
    for (std::size_t lane = 0; lane < lanes.size(); lane++) {
        for (const std::uint64_t change : {1ULL, 1ULL << 63, 0x1'0000'0000ULL, ~0ULL}) {
            lanes[lane] += change;
            EXPECT_FALSE(checksum_matches(lanes)) << "lane " << lane;
            lanes[lane] -= change;
        }
    }
    EXPECT_TRUE(checksum_matches(lanes));
}

TEST(Checksum, OfNoLanesMatchesNothing) {
    EXPECT_FALSE(checksum_matches({}));
}

TEST(Segments, CoverTheModelOnceAndFit) {
    for (const Format format : {Format::i32x2, Format::i16x4, Format::i64x1, Format::f32x2}) {
        for (const std::size_t lanes : {4U, 5U, 178U}) {
            for (std::size_t elements = 1; elements < 3000; elements += 7) {
                const auto segments = Segments::fitting(elements, format, lanes);
                ASSERT_TRUE(segments) << elements;
                std::size_t next = 0;
                for (std::size_t segment = 0; segment < segments->count(); segment++) {
                    const Slice slice = segments->slice(segment);
                    ASSERT_EQ(slice.begin, next);
                    ASSERT_GT(slice.size(), 0U);
                    ASSERT_LE(lanes_for(format, slice.size()), lanes);
                    ASSERT_EQ(segments->holding(slice.begin), segment);
                    ASSERT_EQ(segments->holding(slice.end - 1), segment);
                    next = slice.end;
                }
                ASSERT_EQ(next, elements);
                // The receiver, told only the count, cuts alike.
                const auto again = Segments::of(elements, segments->count());
                ASSERT_TRUE(again);
                ASSERT_EQ(again->slice(0).end, segments->slice(0).end);
            }
        }
    }
}

TEST(Segments, AModelThatFillsAFrameIsOne) {
    for (const Format format : {Format::i32x2, Format::i16x4, Format::i64x1, Format::f32x2}) {
        for (const std::size_t lanes : {1U, 2U, 3U, 177U, 178U, OLAF_MAX_LANES - 1U}) {
            const std::size_t full = lanes * elements_per_lane(format);
            const auto segments = Segments::fitting(full, format, lanes);
            ASSERT_TRUE(segments) << name(format) << " " << lanes;
            EXPECT_EQ(segments->count(), 1) << name(format) << " " << lanes;
            EXPECT_EQ(segments->slice(0).size(), full);
        }
    }
}

TEST(Segments, RefuseEmptyOnes) {
    EXPECT_FALSE(Segments::of(0, 1));
    EXPECT_FALSE(Segments::of(10, 0));
    EXPECT_FALSE(Segments::of(10, 65536));
    EXPECT_FALSE(Segments::of(5, 3)) << "4 + 1 + 0";
    EXPECT_TRUE(Segments::of(9, 3)) << "4 + 4 + 1";
    EXPECT_FALSE(Segments::fitting(10, Format::i64x1, 3)) << "no room for an aligned segment";
    EXPECT_FALSE(Segments::fitting(1 << 20, Format::i64x1, 4)) << "too many";
}

TEST(Segments, FramesFitTheMtu) {
    EXPECT_EQ(lanes_in_mtu(1500, false), 178U); // 1500 − 20 − 8 − 48 = 1424 bytes
    EXPECT_EQ(lanes_in_mtu(1500, true), 175U);
    EXPECT_EQ(lanes_in_mtu(83, false), 0U);
    EXPECT_EQ(lanes_in_mtu(84, false), 1U);
    EXPECT_EQ(lanes_in_mtu(65535, false), static_cast<std::size_t>(OLAF_MAX_LANES));
}

/// No bit of the header may be flipped without a reason to reject the message.
void expect_every_bit_matters(const olaf_header &header, std::size_t lanes, const auto &decode) {
    const auto good = bytes_of(header, lanes);
    EXPECT_TRUE(decode(good));
    for (std::size_t bit = 0; bit < 8 * sizeof(header); bit++) {
        auto bytes = good;
        bytes[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
        EXPECT_FALSE(decode(bytes)) << bit;
    }
}

TEST(RoundMessage, AnyFlippedBitOfItsHeaderIsFound) {
    expect_every_bit_matters(encode(RoundContribution{.chunks = 5, .lanes = 4}), 4,
                             decode_contribution);
    expect_every_bit_matters(encode(RoundResult{.chunks = 5, .lanes = 4}), 4, decode_result);
    expect_every_bit_matters(encode(JobSync{.stamp = 7, .answer = true}), kSyncLanes, decode_sync);
}

} // namespace
} // namespace olaf::test::message_test
