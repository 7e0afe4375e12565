// SPDX-License-Identifier: BSD-2-Clause
// What tests of the way back share: ACKs, frames that carry them, and a queue of known state.
#pragma once

#include <linux/pkt_cls.h>

#include "queue_test.hpp"

namespace olaf::test {

inline constexpr std::uint32_t tc_unspec = static_cast<std::uint32_t>(TC_ACT_UNSPEC);

/// A cluster stays active for the length of any test.
inline DatapathConfig acknowledging_queue() {
    auto config = small_queue();
    config.activity_window_ns = 3'600'000'000'000;
    return config;
}

/// The ACK, as a queue of this state stamps it.
inline Ack stamped(Ack ack, std::uint16_t active, std::uint32_t capacity, std::uint32_t length) {
    ack.state_flags = OLAF_FLAG_STAMPED;
    if (active > capacity)
        ack.state_flags |= OLAF_FLAG_CONGESTED;
    ack.active_clusters = active;
    ack.queue_capacity = capacity;
    ack.queue_length = length;
    return ack;
}

/// Header forms that an ACK may come in.
inline std::vector<Path> ways_back() {
    return {answer(ipv4()),
            answer(ipv4()).without_udp_checksum(),
            answer(ipv4()).options(40).vlan(7),
            answer(ipv4()).service_vlan(9).vlan(7),
            answer(ipv6()),
            answer(ipv6()).hop_by_hop(24).destination_options(16),
            answer(ipv6()).service_vlan(9).vlan(7)};
}

/// A queue of four places in which `length` updates wait and `active` clusters are active.
class AckTest : public QueueTest {
  protected:
    explicit AckTest(const DatapathConfig &config = acknowledging_queue()) : QueueTest(config) {}

    /// At most four wait: clusters beyond find the queue full, and are active all the same.
    void make_active(std::uint32_t clusters) {
        queue.link_busy();
        for (std::uint32_t cluster = 0; cluster < clusters; cluster++)
            queue.offer(ipv4().carrying(Update{.cluster = cluster}));
    }

    /// Leaves as it came, byte for byte, and uncounted.
    void passes(const Bytes &frame) {
        const auto before = queue.ack_counters();
        const auto ran = queue.leave(frame);
        EXPECT_EQ(ran.verdict, tc_unspec);
        EXPECT_EQ(hex(ran.bytes), hex(frame));
        EXPECT_EQ(queue.ack_counters().recognised, before.recognised);
    }
    void passes(const Frame &frame) { passes(frame.bytes); }

    /// Leaves as `path` would carry `expected`.
    void leaves_as(const Path &path, const Ack &ack, const Ack &expected) {
        const auto ran = queue.leave(path.carrying(ack));
        EXPECT_EQ(ran.verdict, tc_unspec);
        EXPECT_EQ(hex(ran.bytes), hex(path.carrying(expected).bytes));
    }
};

} // namespace olaf::test
