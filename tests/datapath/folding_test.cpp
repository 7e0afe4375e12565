// SPDX-License-Identifier: BSD-2-Clause
// What becomes of an update: every fate, two that can't be merged, and the second buffer.
#include <bpf/bpf.h>

#include "queue_test.hpp"

namespace olaf::test::folding_test {
namespace {

// ---- Every fate of an update: verdict, bytes and counters.

class Actions : public QueueTest {};

Frame plain(const Update &update) { return ipv4().without_udp_checksum().carrying(update); }

TEST_F(Actions, PassesThroughUnchangedWhenNothingWaitsAndTheLinkIsFree) {
    queue.link_free();
    Frame frame = ipv4().carrying(Update{.cluster = 1, .extra_flags = 0x8000});
    expect_sent(queue.offer(frame), frame.bytes);
    Totals expected{.received = 1, .passed_through = 1, .updates_in = 1, .updates_out = 1};
    EXPECT_EQ(queue.totals(), expected);
}

TEST_F(Actions, AppendsWhileTheLinkIsBusy) {
    Update update{.cluster = 1, .worker = 9, .sequence = 3, .reward = -7, .segment = 1,
                  .segments = 2};
    Frame frame = ipv4().vlan(3).carrying(update);
    append(frame);
    auto waiting = queue.waiting();
    ASSERT_EQ(waiting.size(), 1u);
    const auto &pending = waiting[0].pending;
    EXPECT_EQ(pending.slot, 3u);
    EXPECT_EQ(pending.worker, 9u);
    EXPECT_EQ(pending.sequence, 3u);
    EXPECT_EQ(pending.count, 1u);
    EXPECT_EQ(pending.reward, -7);
    EXPECT_EQ(pending.first_arrived_ns, pending.arrived_ns);
    EXPECT_EQ(waiting[0].headers, Bytes(frame.bytes.begin(), frame.bytes.begin() + 46));
    EXPECT_EQ(waiting[0].lanes, (std::vector<std::uint64_t>{1, 2, 3, 4, 1 + 6 + 15 + 28}));
}

TEST_F(Actions, AHeadRidesOnTheNextArrivalOnceTheLinkIsFree) {
    Update first{.cluster = 1, .worker = 1, .lanes = lanes_of(5)};
    Update second{.cluster = 2, .worker = 2, .lanes = lanes_of(9)};
    append(plain(first));
    queue.link_free();
    expect_sent(queue.offer(ipv4().vlan(9).options(4).carrying(second)), plain(first).bytes);
    Totals expected{.received = 2, .appended = 2, .departed_riding = 1, .updates_in = 2,
                    .updates_out = 1};
    EXPECT_EQ(queue.totals(), expected);
    EXPECT_EQ(queue.waiting()[0].pending.cluster, 2u);
}

TEST_F(Actions, AnArrivalOfTheHeadsClusterIsNotFoldedIntoTheDepartingHead) {
    append(plain({.cluster = 1, .worker = 1}));
    queue.link_free();
    expect_sent(queue.offer(plain({.cluster = 1, .worker = 1, .sequence = 2})),
                plain({.cluster = 1, .worker = 1}).bytes);
    Totals expected{.received = 2, .appended = 2, .departed_riding = 1, .updates_in = 2,
                    .updates_out = 1};
    EXPECT_EQ(queue.totals(), expected);
}

TEST_F(Actions, AggregatesFieldByFieldKeepingTheNewestHeaders) {
    queue.set_rule(1, rule(OLAF_POLICY_AGGREGATE));
    append(ipv4().options(8).carrying(
        Update{.cluster = 1, .worker = 1, .sequence = 7, .count = 2, .generated_ns = 900,
               .reward = 100, .model_version = 5, .lanes = lanes_of(20)}));
    Update newest{.cluster = 1, .worker = 2, .sequence = 3, .count = 3, .generated_ns = 800,
                  .reward = -250, .model_version = 4, .lanes = lanes_of(20, 77)};
    consumes(ipv4().tos(3).carrying(newest), [](Totals &t) {
        t.received++;
        t.updates_in += 3;
        t.aggregated++;
    });
    queue.link_free();
    Update sent{.cluster = 1, .worker = 2, .sequence = 3, .count = 5, .generated_ns = 900,
                .reward = -150, .model_version = 4, .extra_flags = OLAF_FLAG_AGGREGATED,
                .lanes = sum(lanes_of(20), lanes_of(20, 77))};
    expect_sent(queue.offer(plain({.cluster = 2})),
                ipv4().tos(3).without_udp_checksum().carrying(sent).bytes);
    EXPECT_EQ(queue.totals().updates_out, 5u);
}

TEST_F(Actions, ReplacesTheSingleUpdateOfTheSameWorker) {
    append(plain({.cluster = 1, .worker = 1, .generated_ns = 900, .model_version = 9}));
    Update newer{.cluster = 1, .worker = 1, .sequence = 2, .generated_ns = 800,
                 .model_version = 11, .lanes = {5, 6, 7, 8}};
    consumes(plain(newer), [](Totals &t) {
        t.received++;
        t.updates_in++;
        t.replaced++;
        t.updates_superseded++;
    });
    queue.link_free();
    expect_sent(queue.offer(plain({.cluster = 2})), plain(newer).bytes);
}

TEST_F(Actions, ABetterUpdateTakesOverAnAggregateInItsPlace) {
    queue.set_rule(1, rule(OLAF_POLICY_OLAF, 10));
    append(plain({.cluster = 1, .worker = 1, .count = 4, .reward = 400}));
    append(plain({.cluster = 2}));
    Update better{.cluster = 1, .worker = 2, .reward = 111};
    consumes(plain(better), [](Totals &t) {
        t.received++;
        t.updates_in++;
        t.replaced++;
        t.updates_superseded += 4;
    });
    queue.link_free();
    expect_sent(queue.offer(plain({.cluster = 3})), plain(better).bytes);
}

TEST_F(Actions, DropsAnUpdateOfLowReward) {
    queue.set_rule(1, rule(OLAF_POLICY_OLAF, 10));
    append(plain({.cluster = 1, .worker = 1, .reward = 100}));
    consumes(plain({.cluster = 1, .worker = 2, .count = 2, .reward = 2 * 89}), [](Totals &t) {
        t.received++;
        t.updates_in += 2;
        t.dropped_reward++;
        t.updates_dropped += 2;
    });
}

TEST_F(Actions, DropsAtTheTailWhenFull) {
    for (std::uint32_t cluster = 0; cluster < 4; cluster++)
        append(plain({.cluster = cluster}));
    consumes(plain({.cluster = 4, .count = 3}), [](Totals &t) {
        t.received++;
        t.updates_in += 3;
        t.dropped_full++;
        t.updates_dropped += 3;
    });
    EXPECT_EQ(queue.waiting().size(), 4u);
}

TEST_F(Actions, ADueDepartureFreesItsPlaceBeforeTheArrivalIsJudged) {
    for (std::uint32_t cluster = 0; cluster < 4; cluster++)
        append(plain({.cluster = cluster}));
    queue.link_free();
    expect_sent(queue.offer(plain({.cluster = 4})), plain({.cluster = 0}).bytes);
    EXPECT_EQ(queue.totals().dropped_full, 0u);
    EXPECT_EQ(queue.totals().appended, 5u);
}

TEST_F(Actions, FifoNeverFoldsAndLeavesInOrder) {
    queue.set_rule(1, rule(OLAF_POLICY_FIFO));
    for (std::uint32_t sequence = 0; sequence < 4; sequence++)
        append(plain({.cluster = 1, .sequence = sequence}));
    consumes(plain({.cluster = 1, .sequence = 4}), [](Totals &t) {
        t.received++;
        t.updates_in++;
        t.dropped_full++;
        t.updates_dropped++;
    });
    queue.link_free();
    for (std::uint32_t sequence = 0; sequence < 4; sequence++)
        expect_sent(queue.offer(plain({.cluster = 1, .sequence = 5 + sequence})),
                    plain({.cluster = 1, .sequence = sequence}).bytes);
}

class LargeFifo : public QueueTest {
  protected:
    static olaf::DatapathConfig config() {
        auto config = small_queue();
        config.queue_capacity = 600;
        return config;
    }
    LargeFifo() : QueueTest(config()) {}
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
        const std::uint32_t zero = 0;
        bpf_map_update_elem(queue.queue().map_fd("olaf_places"), &zero, places.data(), BPF_ANY);
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
    static olaf::DatapathConfig config() {
        auto config = small_queue();
        config.fifo = false;
        return config;
    }
    NoFifo() : QueueTest(config()) {}
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

TEST_F(Actions, NewestReplacesWhateverWaits) {
    queue.set_rule(1, rule(OLAF_POLICY_NEWEST));
    append(plain({.cluster = 1, .worker = 1, .count = 9, .reward = 1000}));
    Update newest{.cluster = 1, .worker = 2, .reward = -1000};
    consumes(plain(newest), [](Totals &t) {
        t.received++;
        t.updates_in++;
        t.replaced++;
        t.updates_superseded += 9;
    });
    queue.link_free();
    expect_sent(queue.offer(plain({.cluster = 2})), plain(newest).bytes);
}

TEST_F(Actions, OrderIsThatOfAppendingWhateverFoldsLater) {
    for (std::uint32_t cluster : {3u, 1u, 2u})
        append(plain({.cluster = cluster, .worker = 1}));
    for (std::uint32_t cluster : {2u, 1u, 3u, 3u})
        queue.offer(plain({.cluster = cluster, .worker = 2}));
    std::vector<std::uint32_t> order;
    for (const auto &entry : queue.waiting())
        order.push_back(entry.pending.cluster);
    EXPECT_EQ(order, (std::vector<std::uint32_t>{3, 1, 2}));
}

TEST_F(Actions, SegmentsOfAClusterAreQueuedApart) {
    append(plain({.cluster = 1, .segment = 0, .segments = 2}));
    append(plain({.cluster = 1, .segment = 1, .segments = 2}));
    EXPECT_EQ(queue.waiting().size(), 2u);
}

// ---- An update that can't be merged into what waits, because its shape or its way out is another.

class Misfit : public QueueTest {
  protected:
    static void dropped_misfit(Totals &t) {
        t.received++;
        t.updates_in++;
        t.dropped_misfit++;
        t.updates_dropped++;
    }
    static void aggregated(Totals &t) {
        t.received++;
        t.updates_in++;
        t.aggregated++;
    }
    static void replaced(Totals &t) {
        t.received++;
        t.updates_in++;
        t.replaced++;
        t.updates_superseded++;
    }

    static Frame from(std::uint32_t worker, Path path = ipv4()) {
        return path.without_udp_checksum().carrying(Update{.cluster = 1, .worker = worker});
    }
    static Frame shaped(std::uint32_t worker, std::vector<std::uint64_t> lanes) {
        return ipv4().without_udp_checksum().carrying(
            Update{.cluster = 1, .worker = worker, .lanes = std::move(lanes)});
    }
};

/// Ways out that differ from ipv4()'s in one thing each.
std::vector<Path> other_ways() {
    return {ipv6(),
            ipv4().target(9),
            ipv4().vlan(7),
            ipv4().service_vlan(7),
            ipv4().vlan(7).vlan(8),
            ipv4().to({2, 0, 0, 0, 0, 0x77})};
}

TEST_F(Misfit, OfAnotherWayOutTakesTheSecondBufferAndFoldsWithItsOwn) {
    for (const auto &other : other_ways()) {
        queue.reset();
        append(from(1));
        append(from(2, other));
        const auto mine = from(3);
        consumes(mine, aggregated);
        consumes(from(4, other), aggregated);
        const auto waiting = queue.waiting();
        ASSERT_EQ(waiting.size(), 2u);
        EXPECT_EQ(hex(waiting[0].headers), hex(std::span(mine.bytes).first(mine.message)));
        EXPECT_EQ(waiting[0].pending.worker, 3u);
        EXPECT_EQ(waiting[0].pending.count, 2u);
        EXPECT_EQ(waiting[1].pending.worker, 4u);
        EXPECT_EQ(waiting[1].pending.count, 2u);
    }
}

TEST_F(Misfit, TagsDifferByPriorityAndByTheInnerOne) {
    append(from(1, ipv4().vlan(0x2007).vlan(8)));
    append(from(2, ipv4().vlan(0x4007).vlan(8)));
    consumes(from(3, ipv4().vlan(0x2007).vlan(9)), dropped_misfit);
    consumes(from(4, ipv4().vlan(0x2007).vlan(8)), aggregated);
}

TEST_F(Misfit, EveryWordOfAnIPv6DestinationCounts) {
    const Frame first = ipv6().carrying(Update{.cluster = 1, .worker = 1});
    for (std::size_t word = 0; word < 4; word++) {
        queue.reset();
        append(first);
        auto other = first;
        other.bytes[first.l3 + 24 + 4 * word] ^= 1;
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
    append(six);
    append(four);
    EXPECT_EQ(queue.waiting().size(), 2u);
}

TEST_F(Misfit, HeadersThatDoNotDecideTheWayOutMayDiffer) {
    append(from(1, ipv4().vlan(7)));
    consumes(from(2, ipv4().vlan(7).options(8).source(9).ttl(3).tos(4).source_port(9)), aggregated);
    EXPECT_EQ(queue.waiting().at(0).headers.size(), 42u + 4 + 8);
}

TEST_F(Misfit, NeverClosesWhatWaits) {
    append(shaped(1, {1, 2, 3}));
    append(shaped(2, {1}));
    for (std::uint32_t i = 0; i < 100; i++)
        consumes(shaped(3 + i, {1, 2, 3}), aggregated);
    EXPECT_EQ(queue.waiting().at(0).pending.count, 101u);
    EXPECT_EQ(queue.waiting().at(1).pending.count, 1u);
}

TEST_F(Misfit, FindsBothBuffersTakenAndIsDropped) {
    append(shaped(1, {1, 2, 3}));
    append(shaped(2, {1, 2}));
    consumes(shaped(3, {1}), dropped_misfit);
    consumes(shaped(4, {1, 2}), aggregated);
    consumes(shaped(4, {1, 2, 3}), aggregated);
}

TEST_F(Misfit, FindsNoPlaceAndIsDropped) {
    append(shaped(1, {1, 2, 3}));
    for (std::uint32_t cluster = 2; cluster < 5; cluster++)
        append(ipv4().carrying(Update{.cluster = cluster}));
    consumes(shaped(3, {1}), dropped_misfit);
    consumes(shaped(4, {1, 2, 3}), aggregated);
}

TEST_F(Misfit, OfAnotherFormatOrWithoutAChecksumLaneCountsAsAnotherShape) {
    append(ipv4().carrying(Update{.cluster = 2}));
    append(ipv4().carrying(Update{.cluster = 2, .format = OLAF_FORMAT_I16X4}));
    consumes(ipv4().carrying(Update{.cluster = 2, .checksum = false, .lanes = {1, 2, 3, 4, 5}}),
             dropped_misfit);
}

TEST_F(Misfit, IsNotReplacedAndReplacesNothing) {
    queue.set_rule(1, rule(OLAF_POLICY_NEWEST));
    append(from(1));
    append(from(1, ipv4().target(9)));
    consumes(from(1), replaced);
    consumes(from(1, ipv4().target(9)), replaced);
    consumes(from(1, ipv4().target(8)), dropped_misfit);
}

TEST_F(Misfit, LeavesWithItsOwnHeadersInItsTurn) {
    append(from(1));
    append(from(2, ipv4().target(9)));
    consumes(from(3), aggregated);
    queue.link_free();
    Frame first = ipv4().without_udp_checksum().carrying(
        Update{.cluster = 1, .worker = 3, .count = 2, .extra_flags = OLAF_FLAG_AGGREGATED,
               .lanes = {2, 4, 6, 8}});
    expect_sent(queue.offer(ipv4().carrying(Update{.cluster = 5})), first.bytes);
    queue.link_free();
    expect_sent(queue.offer(ipv4().carrying(Update{.cluster = 6})),
                from(2, ipv4().target(9)).bytes);
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

// ---- When an update can't be folded into the one that waits: the second buffer, and its end.

class Sealing : public QueueTest {
  protected:
    Sealing() {
        for (std::uint32_t cluster = 0; cluster < 8; cluster++)
            queue.set_rule(cluster, rule(OLAF_POLICY_AGGREGATE, no_filter, 2));
    }

    static void dropped_sealed(Totals &t) {
        t.received++;
        t.updates_in++;
        t.dropped_sealed++;
        t.updates_dropped++;
    }
    static void aggregated(Totals &t) {
        t.received++;
        t.updates_in++;
        t.aggregated++;
    }
};

TEST_F(Sealing, AtMaxCountTheSecondBufferIsUsedThenNothing) {
    append(plain({.cluster = 1, .count = 2}));
    append(plain({.cluster = 1, .worker = 3}));
    consumes(plain({.cluster = 1, .worker = 4}), aggregated);
    consumes(plain({.cluster = 1, .worker = 5}), dropped_sealed);
    auto waiting = queue.waiting();
    ASSERT_EQ(waiting.size(), 2u);
    EXPECT_EQ(waiting[0].pending.count, 2u);
    EXPECT_EQ(waiting[1].pending.count, 2u);
}

TEST_F(Sealing, WithoutAPlaceTheOldEntryStaysOpen) {
    append(plain({.cluster = 1}));
    for (std::uint32_t cluster = 2; cluster < 5; cluster++)
        append(plain({.cluster = cluster}));
    consumes(plain({.cluster = 1, .count = 2}), [](Totals &t) {
        t.received++;
        t.updates_in += 2;
        t.dropped_sealed++;
        t.updates_dropped += 2;
    });
    consumes(plain({.cluster = 1}), aggregated);
}

TEST_F(Sealing, ASealedHeadLeavesFirstAndItsBufferIsUsedAgain) {
    Update first{.cluster = 1, .count = 2, .extra_flags = OLAF_FLAG_AGGREGATED};
    append(plain(first));
    append(plain({.cluster = 1, .count = 2}));
    queue.link_free();
    expect_sent(queue.offer(plain({.cluster = 2})), plain(first).bytes);
    append(plain({.cluster = 1}));
    EXPECT_EQ(queue.waiting().size(), 3u);
    consumes(plain({.cluster = 1}), aggregated);
}

TEST_F(Sealing, ADepartingHeadHoldsItsBufferUntilItsFrameIsWritten) {
    append(plain({.cluster = 1, .count = 2}));
    append(plain({.cluster = 1, .count = 2}));
    queue.link_free();
    EXPECT_EQ(queue.offer(plain({.cluster = 1})).verdict, XDP_PASS);
    EXPECT_EQ(queue.totals().dropped_sealed, 1u);
    EXPECT_EQ(queue.totals().departed_riding, 1u);
}

} // namespace
} // namespace olaf::test::folding_test
