// SPDX-License-Identifier: BSD-2-Clause
// What becomes of an update where differential_test.cpp doesn't get to: it tells every fate in random steps.
#include "queue_test.hpp"

namespace olaf::test::folding_test {
namespace {

// ---- Policies that don't fold: their entries come with the places.

Frame plain(const Update &update) { return ipv4().carrying(update); }

class LargeFifo : public QueueTest {
  protected:
    LargeFifo() : QueueTest(small_queue([](auto &config) { config.queue_capacity = 600; })) {}
};

TEST_F(LargeFifo, TakesNoEntryThatIsStillCopiedOut) {
    ASSERT_EQ(queue.config().fifo_places, 1024u);
    ASSERT_EQ(queue.config().ring_places, 2048u);
    queue.set_rule(1, rule(OLAF_POLICY_FIFO));
    // Position 0 shares its entry with position -1024, whose departure isn't over.
    const auto set_place = [&](olaf_place_state state) {
        std::vector<olaf_place> places(queue.config().ring_places);
        places[1024].state = state;
        places[1024].entry = 2 * queue.config().max_clusters * queue.config().max_segments;
        queue.set_places(places);
    };
    set_place(OLAF_PLACE_LEAVING);
    consumes(plain({.cluster = 1}), [](Totals &t) {
        t.received++;
        t.updates_in++;
        t.dropped_full++;
        t.updates_dropped++;
    });
    set_place(OLAF_PLACE_FREE);
    append(plain({.cluster = 1}));
}

class NoFifo : public QueueTest {
  protected:
    NoFifo() : QueueTest(small_queue([](auto &config) { config.fifo = false; })) {}
};

TEST_F(NoFifo, ARuleThatNobodyMadeRoomForDropsAndSpoilsNothing) {
    queue.set_rule(1, rule(OLAF_POLICY_FIFO));
    consumes(plain({.cluster = 1}), [](Totals &t) {
        t.received++;
        t.updates_in++;
        t.dropped_full++;
        t.updates_dropped++;
    });
    append(plain({.cluster = 2}));
}

// ---- A departure that another CPU still copies out.

TEST_F(QueueTest, OneDepartureOfASlotIsCopiedOutAtATime) {
    append(plain({.cluster = 1}));
    const std::uint32_t index = 1 * queue.config().max_segments;
    const auto set_second = [&](olaf_buffer_state state) {
        auto slot = queue.slot(index);
        slot.buffers[1] = state;
        queue.write("olaf_slots", index, slot);
    };
    set_second(OLAF_BUFFER_LEAVING);
    queue.link_free();
    EXPECT_EQ(queue.offer(plain({.cluster = 2})).verdict, XDP_DROP);
    set_second(OLAF_BUFFER_FREE);
    expect_sent(queue.offer(plain({.cluster = 3})), plain({.cluster = 1}).bytes);
}

// ---- An update that can't be merged into what waits, because its shape or its way out is another.

class Misfit : public QueueTest {
  protected:
    static Frame from(std::uint32_t worker, Path path = ipv4()) {
        return path.carrying(Update{.cluster = 1, .worker = worker});
    }
};

TEST_F(Misfit, EveryWordOfAnIPv6DestinationCounts) {
    const Frame first = ipv6().carrying(Update{.cluster = 1, .worker = 1});
    for (std::size_t word = 0; word < 4; word++) {
        queue.reset();
        append(first);
        auto other = first;
        other.bytes[first.l3 + 24 + 4 * word] ^= 1;
        other = summed(other);
        queue.own(other);
        append(other);
        EXPECT_EQ(queue.waiting().size(), 2u) << word;
    }
}

/// The bytes of an IPv6 source address that stand where IPv4 has its destination.
TEST_F(Misfit, IpVersionsThatLookAlikeDoNotFold) {
    const Frame four = from(1);
    Frame six = from(2, ipv6());
    std::copy_n(&four.bytes[four.l3 + 16], 4, &six.bytes[six.l3 + 16]);
    append(summed(six));
    append(four);
    EXPECT_EQ(queue.waiting().size(), 2u);
}

TEST_F(Misfit, ACountAboveMaxCountIsRefused) {
    for (const std::uint32_t count : {257u, 4'000'000'000u, UINT32_MAX}) {
        auto before = queue.totals();
        queue.link_free();
        EXPECT_EQ(queue.offer(ipv4().carrying(Update{.cluster = 1, .count = count})).verdict,
                  XDP_DROP);
        before.not_allowed++;
        EXPECT_EQ(queue.totals(), before);
    }
    EXPECT_EQ(queue.counters().not_allowed[OLAF_NOT_ALLOWED_COUNT], 3u);
    append(ipv4().carrying(Update{.cluster = 1, .count = 256}));
}

} // namespace
} // namespace olaf::test::folding_test
