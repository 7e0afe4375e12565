// SPDX-License-Identifier: BSD-2-Clause
// When an update can't be folded into the one that waits: the second buffer, and its end.
#include "queue_test.hpp"

namespace olaf::test::sealing_test {
namespace {

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

Frame plain(const Update &update) { return ipv4().without_udp_checksum().carrying(update); }

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
} // namespace olaf::test::sealing_test
