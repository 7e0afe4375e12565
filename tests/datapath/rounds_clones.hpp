// SPDX-License-Identifier: BSD-2-Clause
// Results that leave in clones: XDP makes the frame at hand an order, TC carries it out, and a capture at the
// other end of the device has what left.
#pragma once

#include <linux/pkt_cls.h>

#include <utility>

#include "rounds.hpp"
#include "testbed.hpp"

namespace olaf::test {

/// A queue on the device whose other end can be heard.
inline DatapathConfig config_in(const Testbed &net, std::uint32_t max_lanes = 64) {
    auto config = queue_with_rounds(max_lanes);
    config.ifindex = net.near;
    config.mac = net.near_mac;
    return config;
}

/// What leaves by an order, each as if it had been sent back. `counters` are the job's, of this moment.
template <class Counters>
std::vector<Ran> clones_of(const Ran &order, const Harness &queue, const Testbed &net, Capture &far,
                           const Counters &counters) {
    const auto sent = [&] {
        const olaf_job_counters now = counters();
        return now.copied + now.multicast;
    };
    const auto before = sent();
    const auto ran = run_tc(queue.queue().program_fd("olaf_copies"), order.bytes, net.near);
    EXPECT_EQ(ran.verdict, std::uint32_t{TC_ACT_SHOT});
    std::vector<Ran> clones;
    for (auto left = sent() - before; left > 0; left--) {
        auto frame = far.next();
        EXPECT_TRUE(frame) << "a clone that was counted didn't leave";
        if (!frame)
            break;
        clones.push_back({.verdict = XDP_TX, .bytes = std::move(*frame)});
    }
    EXPECT_TRUE(far.empty()) << "a clone that wasn't counted";
    return clones;
}

/// A job on such a queue.
class RoundsWithClones : protected InTestbed, public RoundsTest {
  protected:
    explicit RoundsWithClones(const olaf_job_setup &setup, std::uint32_t max_lanes = 64)
        : RoundsTest(setup, config_in(net, max_lanes)), far(net.far) {}

    std::vector<Ran> clones_of(const Ran &order) {
        EXPECT_STREQ(verdict_name(order.verdict), "XDP_PASS");
        if (order.verdict != XDP_PASS)
            return {};
        return test::clones_of(order, queue, net, far, [this] { return counters(); });
    }
    static JobMessage flushing(JobMessage message) {
        message.flags |= OLAF_FLAG_FLUSH;
        return message;
    }

    Capture far;
};

} // namespace olaf::test
