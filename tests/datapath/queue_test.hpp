// SPDX-License-Identifier: BSD-2-Clause
// What datapath tests share: a queue, and expectations about a frame's fate.
#pragma once

#include <gtest/gtest.h>

#include <cstring>

#include "harness.hpp"

namespace olaf::test {

/// Small, paced (so that the link can be busy), delivering to the local stack.
inline DatapathConfig small_queue() {
    return {.queue_capacity = 4,
            .rate_bps = 1'000'000'000,
            .max_clusters = 8,
            .max_segments = 2,
            .max_lanes = 64};
}

/// The same with changes.
template <class Change> DatapathConfig small_queue(Change change) {
    auto config = small_queue();
    change(config);
    return config;
}

/// Names of a suite's cases: by the IP version, by the way of delivery.
inline constexpr auto by_version = [](const auto &info) {
    return std::string(info.param == 4 ? "v4" : "v6");
};
inline constexpr auto by_delivery = [](const auto &info) {
    return std::string(info.param == OLAF_DELIVER_LOCAL ? "local" : "forward");
};

inline constexpr std::int64_t no_filter = -1;

inline olaf_rule rule(olaf_policy policy, std::int64_t threshold = no_filter,
                      std::uint32_t max_count = OLAF_DEFAULT_MAX_COUNT) {
    return {.policy = policy, .max_count = max_count, .reward_threshold = threshold};
}

/// A queue on which no token is due: arrivals that leave nothing are dropped frames.
class QueueTest : public testing::Test {
  protected:
    explicit QueueTest(const DatapathConfig &config = small_queue()) : queue(config) {
        queue.set_drain_deadline(UINT64_MAX / 2);
    }

    void TearDown() override { EXPECT_EQ(queue.broken_identity(), ""); }

    /// Puts an update in the queue while the link is busy.
    void append(const Frame &frame, const How &how = {}) {
        queue.link_busy();
        auto before = queue.totals();
        EXPECT_EQ(queue.offer(frame, how).verdict, XDP_DROP);
        before.received++;
        before.updates_in += get_be(frame.bytes, frame.message + 20, 4);
        before.appended++;
        EXPECT_EQ(queue.totals(), before);
    }

    /// Offers while the link is busy, and expects the counters to change by `change` alone.
    template <class Change> void consumes(const Frame &frame, Change change) {
        queue.link_busy();
        auto expected = queue.totals();
        change(expected);
        EXPECT_EQ(queue.offer(frame).verdict, XDP_DROP);
        EXPECT_EQ(queue.totals(), expected);
    }

    Harness queue;
};

/// The frame with its pseudo header's sum alone as its UDP checksum: a local socket leaves the rest
/// to its device.
inline Frame partial(Frame frame) {
    const auto addresses = frame.family == 4 ? std::span(frame.bytes).subspan(frame.l3 + 12, 8)
                                             : std::span(frame.bytes).subspan(frame.l3 + 8, 32);
    const auto sum = checksum_add(addresses) + 17 + get_be(frame.bytes, frame.l4 + 4, 2);
    const auto folded = static_cast<std::uint16_t>(~checksum_finish(sum));
    return with(std::move(frame), frame.l4 + 6, folded, 2);
}

/// A frame that begins like the queue's token does, of that generation.
inline Bytes token_of(const Harness &queue, std::uint32_t generation = 0) {
    Bytes token(128, 0);
    token[12] = 0x08;
    std::memcpy(&token[14], &queue.config().token_secret, 8);
    std::memcpy(&token[22], &generation, 4);
    return token;
}

/// The frame was sent with exactly these bytes.
inline void expect_sent(const Ran &ran, const Bytes &bytes, std::uint32_t verdict = XDP_PASS) {
    EXPECT_STREQ(verdict_name(ran.verdict), verdict_name(verdict));
    EXPECT_EQ(hex(ran.bytes), hex(bytes));
}

/// The fields of a test's Update as the wire has them, `count` times the lane values.
inline std::vector<std::uint64_t> lanes_of(std::size_t count, std::uint64_t seed = 1) {
    std::vector<std::uint64_t> lanes(count);
    for (std::size_t i = 0; i < count; i++)
        lanes[i] = (seed + i) * 0x9e3779b97f4a7c15ull;
    return lanes;
}

} // namespace olaf::test
