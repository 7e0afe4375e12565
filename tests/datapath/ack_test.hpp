// SPDX-License-Identifier: BSD-2-Clause
// What tests of the way back share: ACKs, frames that carry them, and a queue of known state.
#pragma once

#include <linux/pkt_cls.h>

#include "queue_test.hpp"
#include "testbed.hpp"

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

/// The cluster whose ACKs are copied.
inline constexpr std::uint32_t cluster = 1;

/// One worker: what its updates come in, and what an ACK to it goes out in.
struct Someone {
    std::uint32_t worker;
    Path update, ack;
};

/// Host `worker` of the workers' network, from a port and a MAC address of its own.
inline Someone someone(std::uint32_t worker, int family = 4) {
    const auto host = static_cast<std::uint8_t>(worker);
    const auto port = static_cast<std::uint16_t>(50000 + worker);
    const Mac mac = {2, 0, 0, 0, 7, host};
    const auto path = family == 4 ? ipv4() : ipv6();
    return {.worker = worker,
            .update = Path(path).from(mac).source(host).source_port(port),
            .ack = answer(path).to(mac).target(host).port(port)};
}

/// The queue is on one end of a pair of devices. Copies of ACKs come in at the other end.
class CopyTest : protected InTestbed, public AckTest {
  protected:
    /// `make` makes the configuration for the testbed.
    template <class Make> explicit CopyTest(Make make) : AckTest(make(net)), out(net.far) {
        queue.link_busy();
    }

    void hear(const Path &path, std::uint32_t worker) {
        queue.offer(path.carrying(Update{.cluster = cluster, .worker = worker}));
    }
    void hear(const Someone &worker) { hear(worker.update, worker.worker); }

    /// What the worker gets of an ACK. The queue says of itself that one cluster is active.
    [[nodiscard]] Bytes to(const Someone &worker, Ack ack) const {
        const auto ring = queue.ring();
        ack.worker = worker.worker;
        return worker.ack
            .carrying(stamped(ack, 1, 4, static_cast<std::uint32_t>(ring.tail - ring.head)))
            .bytes;
    }

    Capture out;
    const Ack ack{.cluster = cluster, .sequence = 77, .model_version = 9, .lanes = lanes_of(5)};
};

} // namespace olaf::test
