// SPDX-License-Identifier: BSD-2-Clause
// What tests of the window share: a queue that only ACKs pace, and ACKs of what departed.
#pragma once

#include "ack_test.hpp"
#include "introduce.hpp"

namespace olaf::test {

inline DatapathConfig windowed_queue(Window window) {
    auto config = small_queue();
    config.rate_bps = 0;
    config.window = window;
    return config;
}

class WindowTest : public QueueTest {
  protected:
    explicit WindowTest(const DatapathConfig &config) : QueueTest(config) {
        introduce_workers(queue);
    }

    /// What left by the frame that carried `update` in; nothing if none did.
    std::optional<Update> offer(const Update &update) {
        const auto ran = queue.offer(ipv4().carrying(update));
        if (ran.verdict != XDP_PASS)
            return {};
        const auto left = parse_update(ran.bytes);
        EXPECT_TRUE(left);
        return left ? std::optional(left->update) : std::nullopt;
    }
    /// The next update of a cluster's worker, unlike any before it.
    Update fresh(std::uint32_t cluster, std::uint32_t worker = 1) {
        sequence++;
        return {.cluster = cluster,
                .worker = worker,
                .sequence = sequence,
                .generated_ns = 1'000'000ull + sequence};
    }
    void answer_with(const Ack &ack) {
        EXPECT_EQ(queue.leave(answer(ipv4()).carrying(ack)).verdict, tc_unspec);
    }
    void acknowledge(const Update &update) { answer_with(ack_of(update)); }

    std::uint32_t sequence = 0;
};

} // namespace olaf::test
