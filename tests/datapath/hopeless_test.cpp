// SPDX-License-Identifier: BSD-2-Clause
// Updates to a next hop that never answers are given up in the end, in whatever order they wait.
#include <linux/pkt_cls.h>

#include <cstring>

#include <bpf/bpf.h>

#include "queue_test.hpp"
#include "spells.hpp"
#include "testbed.hpp"

namespace olaf::test::hopeless_test {
namespace {

constexpr Mac our_mac = {2, 0, 0, 0, 2, 2};
constexpr std::uint8_t nobody = 9; ///< 10.0.1.9
constexpr std::uint64_t for_ever = 31'000'000'000;

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

class Hopeless : private InTestbed, public QueueTest {
  protected:
    Hopeless() : QueueTest(routing(net)) { be_up_for(for_ever); }

    Frame to_nobody(std::uint32_t cluster) {
        return ipv4().to(our_mac).target(nobody).carrying(Update{.cluster = cluster});
    }

    /// The update of the cluster has waited for so long that it goes to nowhere.
    void age(std::uint32_t cluster) {
        const int entries = queue.queue().map_fd("olaf_entries");
        std::vector<std::uint64_t> storage(olaf::entry_bytes(queue.config().max_lanes) / 8 + 1);
        const std::uint32_t key = cluster * queue.config().max_segments;
        ASSERT_EQ(bpf_map_lookup_elem(entries, &key, storage.data()), 0);
        olaf_pending pending;
        std::memcpy(&pending, storage.data(), sizeof pending);
        ASSERT_NE(pending.first_arrived_ns, 0u);
        pending.first_arrived_ns -= for_ever;
        std::memcpy(storage.data(), &pending, sizeof pending);
        ASSERT_EQ(bpf_map_update_elem(entries, &key, storage.data(), BPF_ANY), 0);
    }

    /// The first to wait becomes the token: its bytes.
    Bytes launch(const Frame &frame) {
        queue.set_link(UINT64_MAX / 2, 0);
        return queue.offer(frame).bytes;
    }
    void tick(const Bytes &token) {
        queue.link_free();
        (void)run_tc(queue.queue().program_fd("olaf_drain_tick"), token);
    }
};

TEST_F(Hopeless, UpdatesAreGivenUpThoughALaterOneIsInFront) {
    const auto token = launch(to_nobody(1));
    append(to_nobody(2));
    append(to_nobody(3));
    age(2);
    age(3);
    tick(token); // the first goes behind the others, whose turn hasn't come
    EXPECT_EQ(queue.waiting().size(), 3u);
    age(1);
    tick(token);
    tick(token);
    EXPECT_EQ(queue.counters().departures_unfit, 3u);
    EXPECT_TRUE(queue.waiting().empty());
    EXPECT_EQ(queue.totals().updates_dropped, 3u);
    EXPECT_TRUE(spells_of(queue)[OLAF_TROUBLE_UNFIT]);
}

} // namespace
} // namespace olaf::test::hopeless_test
