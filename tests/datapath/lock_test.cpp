// SPDX-License-Identifier: BSD-2-Clause
// A lock that nobody gives back: the wait ends, the loss is counted, nothing else is touched.
#include <ctime>

#include "queue_test.hpp"

namespace olaf::test::lock_test {
namespace {

class Locks : public QueueTest {
  protected:
    /// Holds (1) or gives back (0) a lock, as a CPU that is stopped under it would.
    void set_slot_lock(std::uint32_t index, std::uint32_t held) {
        auto slot = queue.slot(index);
        slot.lock = held;
        queue.write("olaf_slots", index, slot);
    }
    void set_ring_lock(std::uint32_t held) {
        auto ring = queue.ring();
        ring.lock = held;
        queue.write("olaf_ring", 0u, ring);
    }
};

TEST_F(Locks, ASlotsHeldForEverCostsTheArrivalAndIsCounted) {
    queue.set_rule(1, rule(OLAF_POLICY_AGGREGATE));
    append(ipv4().carrying(Update{.cluster = 1}));
    const auto slot = queue.config().max_segments;
    const auto before = queue.totals();

    set_slot_lock(slot, 1);
    EXPECT_EQ(queue.offer(ipv4().carrying(Update{.cluster = 1, .count = 3})).verdict, XDP_DROP);
    auto after = queue.totals();
    EXPECT_EQ(queue.counters().dropped_contended, 1u);
    EXPECT_EQ(queue.counters().updates_contended, 3u);
    EXPECT_EQ(after.received, before.received + 1);
    EXPECT_EQ(after.updates_in, before.updates_in + 3);
    EXPECT_EQ(after.aggregated, before.aggregated);
    EXPECT_EQ(queue.updates_waiting(), 1u);
    EXPECT_EQ(queue.slot(slot).lock, 1u) << "given back by one who didn't take it";

    set_slot_lock(slot, 0);
    queue.offer(ipv4().carrying(Update{.cluster = 1, .worker = 2, .count = 2}));
    EXPECT_EQ(queue.totals().aggregated, before.aggregated + 1);
    EXPECT_EQ(queue.updates_waiting(), 3u);
    EXPECT_EQ(queue.slot(slot).lock, 0u);

    // `olaf status` shows the contended as part of dropped_full: with them the identities hold.
    after = queue.totals();
    EXPECT_EQ(after.received, after.appended + after.aggregated + 1);
    EXPECT_EQ(after.updates_in, queue.updates_waiting() + 3);
    queue.reset(); // a contended lock breaks a queue at rest in every other test
}

TEST_F(Locks, TheRingsHeldForEverReadsAsAFullQueueAndFoldingGoesOn) {
    queue.set_rule(1, rule(OLAF_POLICY_AGGREGATE));
    append(ipv4().carrying(Update{.cluster = 1}));

    set_ring_lock(1);
    EXPECT_EQ(queue.offer(ipv4().carrying(Update{.cluster = 2})).verdict, XDP_DROP);
    EXPECT_EQ(queue.totals().dropped_full, 1u);
    queue.offer(ipv4().carrying(Update{.cluster = 1, .worker = 2}));
    EXPECT_EQ(queue.totals().aggregated, 1u);
    EXPECT_EQ(queue.broken_identity(), "");

    set_ring_lock(0);
    append(ipv4().carrying(Update{.cluster = 2}));
    EXPECT_EQ(queue.waiting().size(), 2u);
    EXPECT_EQ(queue.broken_identity(), "");
}

/// Time that this thread has had a CPU for. A wait for a lock spins, and other processes don't count.
std::uint64_t cpu_ns() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

/// A CPU that is stopped under a lock stops no other: who has waited in vain once is brief then.
TEST_F(Locks, APollsWorthOfPacketsWaitsOnceAlone) {
    append(ipv4().carrying(Update{.cluster = 1}));
    const auto slot = queue.config().max_segments;
    set_slot_lock(slot, 1);
    const auto wait_ns = [&](int packets) {
        const auto began = cpu_ns();
        for (int packet = 0; packet < packets; packet++)
            queue.offer(ipv4().carrying(Update{.cluster = 1}));
        return cpu_ns() - began;
    };
    const auto once = wait_ns(1);
    EXPECT_LT(wait_ns(63), 63 * once / 4);
    EXPECT_EQ(queue.counters().dropped_contended, 64u);
    set_slot_lock(slot, 0);
    queue.reset();
}

} // namespace
} // namespace olaf::test::lock_test
