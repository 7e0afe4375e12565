// SPDX-License-Identifier: BSD-2-Clause
// Next hops are asked for their addresses, and not flooded with questions.
#include <bpf/bpf.h>

#include "olaf/way.h"
#include "queue_test.hpp"
#include "testbed.hpp"

namespace olaf::test::asking_test {
namespace {

constexpr Mac our_mac = {2, 0, 0, 0, 2, 2};
constexpr std::uint8_t nobody = 9, somebody = 2; ///< in 10.0.1.0/24
constexpr std::uint64_t second = 1'000'000'000;

olaf::DatapathConfig routing(const Testbed &net) {
    auto config = small_queue();
    config.deliver = OLAF_DELIVER_FORWARD;
    config.ifindex = net.near;
    config.egress_ifindex = net.near;
    config.drain_ifindex = net.far;
    config.drain_interval_ns = 100'000;
    config.mac = our_mac;
    return config;
}

class Asking : private InTestbed, public QueueTest {
  protected:
    Asking() : QueueTest(routing(net)) {}

    static Frame to(std::uint8_t target, std::uint32_t cluster) {
        return ipv4().to(our_mac).target(target).carrying(Update{.cluster = cluster});
    }
    /// An update comes to wait, and its frame becomes the token: the token's bytes.
    Bytes launch(std::uint8_t target) {
        queue.set_link(UINT64_MAX / 2, 0);
        return queue.offer(to(target, 1)).bytes;
    }
    void tick(const Bytes &token) {
        queue.link_free();
        (void)run_tc(queue.queue().program_fd("olaf_drain_tick"), token);
    }
    /// As if the one hop that is known had last been asked so much earlier.
    void age_question(std::uint64_t ns) {
        const int hops = queue.queue().map_fd("olaf_hops");
        std::uint32_t known = 0;
        for (std::uint32_t index = 0; index < OLAF_HOPS; index++) {
            olaf_hop hop{};
            ASSERT_EQ(bpf_map_lookup_elem(hops, &index, &hop), 0);
            if (hop.family == 0)
                continue;
            known++;
            hop.asked_ns -= ns;
            ASSERT_EQ(bpf_map_update_elem(hops, &index, &hop, BPF_ANY), 0);
        }
        ASSERT_EQ(known, 1u);
    }
    [[nodiscard]] std::uint64_t asked() const { return queue.counters().hops_asked; }
};

TEST_F(Asking, ANextHopThatDoesNotAnswerIsAskedOnceASecond) {
    const auto token = launch(nobody);
    const auto began = monotonic_ns();
    tick(token);
    for (std::uint64_t questions = asked() + 1; questions <= 3; questions++) {
        age_question(second);
        for (int i = 0; i < 100; i++)
            tick(token);
        // A slow machine may have let a second pass meanwhile.
        EXPECT_GE(asked(), questions);
        EXPECT_LE(asked(), questions + (monotonic_ns() - began) / second);
    }
    EXPECT_EQ(queue.waiting().size(), 1u);
}

TEST_F(Asking, ANextHopInUseIsAskedAgainAfterFourSeconds) {
    const auto began = monotonic_ns();
    const auto leave = [&] {
        for (int i = 0; i < 20; i++)
            tick(launch(somebody));
    };
    leave();
    EXPECT_LE(asked(), (monotonic_ns() - began) / (4 * second));
    const auto before = asked();
    age_question(4 * second);
    leave();
    EXPECT_GE(asked(), before + 1);
    EXPECT_LE(asked(), before + 1 + (monotonic_ns() - began) / (4 * second));
    EXPECT_EQ(queue.totals().departed_drain, 40u);
}

} // namespace
} // namespace olaf::test::asking_test
