// SPDX-License-Identifier: BSD-2-Clause
// Next hops: they are asked for, given up, and served in turns.
#include <linux/pkt_cls.h>

#include "olaf/way.h"
#include "queue_test.hpp"
#include "spells.hpp"
#include "testbed.hpp"

namespace olaf::test::hops_test {
namespace {

constexpr Mac our_mac = {2, 0, 0, 0, 2, 2};
constexpr std::uint8_t nobody = 9, server = 2; ///< in 10.0.1.0/24; the server's address is known
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

class NextHops : protected InTestbed, public QueueTest {
  protected:
    NextHops() : QueueTest(routing(net)) {}

    static Frame to(std::uint8_t target, std::uint32_t cluster) {
        return ipv4().to(our_mac).target(target).carrying(Update{.cluster = cluster});
    }
    /// An update comes to wait, and its frame becomes the token: the token's bytes.
    Bytes launch(const Frame &frame) {
        queue.set_link(UINT64_MAX / 2, 0);
        auto token = queue.offer(frame).bytes;
        queue.set_drain_deadline(UINT64_MAX / 2);
        return token;
    }
    /// On a slow machine the token would be late by the next arrival, which would launch another.
    void tick(const Bytes &token) {
        queue.link_free();
        (void)run_tc(queue.queue().program_fd("olaf_drain_tick"), token);
        queue.set_drain_deadline(UINT64_MAX / 2);
    }
};

// ---- Next hops are asked for their addresses, and not flooded with questions.

class Asking : public NextHops {
  protected:
    /// As if the one hop that is known had last been asked so much earlier.
    void age_question(std::uint64_t ns) {
        const auto known = queue.change_hops([&](olaf_hop &hop) {
            hop.asked_ns -= ns;
            return hop.family != 0;
        });
        ASSERT_EQ(known, 1u);
    }
    [[nodiscard]] std::uint64_t asked() const { return queue.counters().hops_asked; }
};

TEST_F(Asking, ANextHopThatDoesNotAnswerIsAskedOnceASecond) {
    const auto token = launch(to(nobody, 1));
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
            tick(launch(to(server, 1)));
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

/// Destinations may share a hop's place: what is kept there of one is nothing to another.
TEST_F(Asking, WhatIsKnownOfAnotherDestinationIsNotUsed) {
    append(to(server, 1));
    queue.link_free();
    EXPECT_EQ(queue.offer(to(server, 2)).verdict, XDP_REDIRECT);
    queue.change_hops([](olaf_hop &hop) {
        hop.daddr_be[0] ^= 1;
        hop.dmac[5] ^= 1;
        return hop.family != 0;
    });
    queue.link_free();
    const auto ran = queue.offer(to(server, 3));
    EXPECT_EQ(ran.verdict, XDP_REDIRECT);
    EXPECT_EQ(hex(std::span(ran.bytes).first(6)), hex(net.next_hop_mac));
}

// ---- Updates to a next hop that never answers are given up in the end, in whatever order they wait.

constexpr std::uint64_t for_ever = 31'000'000'000;

class Hopeless : public NextHops {
  protected:
    Hopeless() { be_up_for(for_ever); }

    /// The update of the cluster has waited for so long that it goes to nowhere.
    void age(std::uint32_t cluster) {
        const auto entry = cluster * queue.config().max_segments;
        auto pending = queue.pending(entry);
        ASSERT_NE(pending.first_arrived_ns, 0u);
        pending.first_arrived_ns -= for_ever;
        queue.set_pending(entry, pending);
    }
};

TEST_F(Hopeless, UpdatesAreGivenUpThoughALaterOneIsInFront) {
    const auto token = launch(to(nobody, 1));
    append(to(nobody, 2));
    append(to(nobody, 3));
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

// ---- Order holds for each next hop: an entry leaves when all before it on the same way have left,
// whatever place it has come to in the ring.

/// The place of the head, as programs of another way have left it.
void set_head_of(Harness &queue, std::uint32_t hop, std::uint64_t turn) {
    auto places = queue.places();
    auto &head = places[queue.ring().head % places.size()];
    head.hop = hop;
    head.turn = turn;
    queue.set_places(places);
}

class Turns : public NextHops {
  protected:
    static Frame of(std::uint32_t cluster) { return to(server, cluster); }
    /// Says how many entries for the server have left.
    void set_served(std::uint64_t served) {
        queue.change_hops([&](olaf_hop &hop) {
            hop.served = served;
            return hop.issued != 0;
        });
    }
    std::uint32_t cluster_that_left() {
        auto bytes = out.next();
        const auto received = bytes ? parse_update(std::move(*bytes)) : std::nullopt;
        return received ? received->update.cluster : 0;
    }

    Capture out{net.far};
};

TEST_F(Turns, AnEntryLeavesInItsTurnAndNotBefore) {
    const auto token = launch(of(1));
    append(of(2));
    set_served(1); // as if it were the second's turn
    tick(token);
    EXPECT_EQ(cluster_that_left(), 2u);
    ASSERT_EQ(queue.waiting().size(), 1u);
    // It went behind the second one: what folds into it finds its place there.
    const auto longer = ipv4().to(our_mac).target(server).options(40).carrying(Update{.cluster = 1});
    queue.link_busy();
    queue.offer(longer);
    EXPECT_EQ(queue.waiting()[0].place.bytes, longer.size());
    set_served(0);
    tick(token);
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
    EXPECT_EQ(ran.verdict, XDP_REDIRECT); // it came by the device that departures leave by
    EXPECT_EQ(get_be(ran.bytes, of(1).message + 8, 4), 1u);
}

/// `attach --replace` may leave entries to programs that send another way. What took no turn waits for
/// none.
TEST_F(Turns, AnEntryThatTookNoneWaitsForNone) {
    append(of(1));
    set_head_of(queue, UINT32_MAX, 77);
    queue.link_free();
    const auto ran = queue.offer(of(3));
    EXPECT_EQ(ran.verdict, XDP_REDIRECT);
    EXPECT_EQ(get_be(ran.bytes, of(1).message + 8, 4), 1u);
}

/// And what took one is served by programs that give none: those behind it would wait for ever.
TEST_F(QueueTest, ATurnIsServedByProgramsOfAnotherWay) {
    constexpr std::uint32_t hop = 7;
    ASSERT_EQ(queue.config().deliver, OLAF_DELIVER_LOCAL);
    olaf_hop issued{};
    issued.issued = 1;
    queue.write("olaf_hops", hop, issued);
    append(ipv4().carrying(Update{.cluster = 1}));
    set_head_of(queue, hop, 0);
    queue.link_free();
    EXPECT_EQ(queue.offer(ipv4().carrying(Update{.cluster = 2})).verdict, XDP_PASS);
    EXPECT_EQ(queue.read<olaf_hop>("olaf_hops", hop).served, 1u);
}

} // namespace
} // namespace olaf::test::hops_test
