// SPDX-License-Identifier: BSD-2-Clause
// Order holds for each next hop: an entry leaves when all before it on the same way have left,
// whatever place it has come to in the ring.
#include <bpf/bpf.h>

#include "olaf/way.h"
#include "queue_test.hpp"
#include "testbed.hpp"

namespace olaf::test::turns_test {
namespace {

constexpr Mac our_mac = {2, 0, 0, 0, 2, 2};
constexpr std::uint8_t server = 2; ///< 10.0.1.2, whose address is known

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

void set_head_of(const Harness &queue, std::uint32_t hop, std::uint64_t turn) {
    const int fd = queue.queue().map_fd("olaf_places");
    const std::uint32_t key = 0;
    std::vector<olaf_place> places(queue.config().ring_places);
    ASSERT_EQ(bpf_map_lookup_elem(fd, &key, places.data()), 0);
    auto &head = places[queue.ring().head % places.size()];
    head.hop = hop;
    head.turn = turn;
    ASSERT_EQ(bpf_map_update_elem(fd, &key, places.data(), BPF_ANY), 0);
}

class Turns : private InTestbed, public QueueTest {
  protected:
    Turns() : QueueTest(routing(net)), out(net.far) {}

    static Frame of(std::uint32_t cluster) {
        return ipv4().to(our_mac).target(server).carrying(Update{.cluster = cluster});
    }
    /// Says how many entries for the server have left.
    void set_served(std::uint64_t served) {
        const int hops = queue.queue().map_fd("olaf_hops");
        for (std::uint32_t index = 0; index < OLAF_HOPS; index++) {
            olaf_hop hop{};
            ASSERT_EQ(bpf_map_lookup_elem(hops, &index, &hop), 0);
            if (hop.issued == 0)
                continue;
            hop.served = served;
            ASSERT_EQ(bpf_map_update_elem(hops, &index, &hop, BPF_ANY), 0);
        }
    }
    /// The place of the head, as programs of another way have left it.
    void set_head(std::uint32_t hop, std::uint64_t turn) { set_head_of(queue, hop, turn); }
    std::uint32_t cluster_that_left() {
        auto bytes = out.next();
        const auto received = bytes ? parse_update(std::move(*bytes)) : std::nullopt;
        return received ? received->update.cluster : 0;
    }

    Capture out;
};

TEST_F(Turns, AnEntryLeavesInItsTurnAndNotBefore) {
    queue.set_link(UINT64_MAX / 2, 0);
    const auto token = queue.offer(of(1)).bytes;
    append(of(2));
    set_served(1); // as if it were the second's turn
    queue.link_free();
    (void)run_tc(queue.queue().program_fd("olaf_drain_tick"), token);
    EXPECT_EQ(cluster_that_left(), 2u);
    EXPECT_EQ(queue.waiting().size(), 1u);
    set_served(0);
    (void)run_tc(queue.queue().program_fd("olaf_drain_tick"), token);
    EXPECT_EQ(cluster_that_left(), 1u);
    EXPECT_TRUE(queue.waiting().empty());
}

TEST_F(Turns, AHeadRidesInItsTurnAndNotBefore) {
    append(of(1));
    append(of(2));
    set_served(1);
    queue.link_free();
    EXPECT_EQ(queue.offer(of(3)).verdict, XDP_DROP);
    EXPECT_EQ(queue.totals().updates_out, 0u);
    set_served(0);
    queue.link_free();
    const auto ran = queue.offer(of(3));
    EXPECT_EQ(ran.verdict, XDP_TX); // it came by the device that departures leave by
    EXPECT_EQ(get_be(ran.bytes, of(1).message + 8, 4), 1u);
}

/// `attach --replace` may leave entries to programs that send another way. What took no turn waits for
/// none.
TEST_F(Turns, AnEntryThatTookNoneWaitsForNone) {
    append(of(1));
    set_head(UINT32_MAX, 77);
    queue.link_free();
    const auto ran = queue.offer(of(3));
    EXPECT_EQ(ran.verdict, XDP_TX);
    EXPECT_EQ(get_be(ran.bytes, of(1).message + 8, 4), 1u);
}

/// And what took one is served by programs that give none: those behind it would wait for ever.
TEST_F(QueueTest, ATurnIsServedByProgramsOfAnotherWay) {
    constexpr std::uint32_t hop = 7;
    const int hops = queue.queue().map_fd("olaf_hops");
    ASSERT_EQ(queue.config().deliver, OLAF_DELIVER_LOCAL);
    olaf_hop issued{};
    issued.issued = 1;
    ASSERT_EQ(bpf_map_update_elem(hops, &hop, &issued, BPF_ANY), 0);
    append(ipv4().carrying(Update{.cluster = 1}));
    set_head_of(queue, hop, 0);
    queue.link_free();
    EXPECT_EQ(queue.offer(ipv4().carrying(Update{.cluster = 2})).verdict, XDP_PASS);
    olaf_hop served{};
    ASSERT_EQ(bpf_map_lookup_elem(hops, &hop, &served), 0);
    EXPECT_EQ(served.served, 1u);
}

} // namespace
} // namespace olaf::test::turns_test
