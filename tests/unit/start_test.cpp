// SPDX-License-Identifier: BSD-2-Clause
// Figures that start anew: whatever moment the counters were read at, the identities hold of what
// is left of them.
#include <gtest/gtest.h>

#include <random>

#include "loader/datapath/start.hpp"

namespace olaf::test::start_test {
namespace {

constexpr std::uint32_t clusters = 5;

/// A queue in which updates come and go at random, with all that counts them.
class Queue {
  public:
    void live(unsigned steps) {
        for (unsigned i = 0; i < steps; i++)
            step(random_() % clusters);
    }

    Snapshot now;

  private:
    void step(std::size_t id) {
        auto &slot = now.clusters[id];
        auto &counters = now.counters;
        const auto count = 1 + random_() % 3;
        if (now.waiting[id] != 0 && random_() % 3 == 0) {
            (random_() % 2 ? slot.departed_drain : slot.departed_riding)++;
            slot.updates_departed += held_[id];
            now.levels.queue_length--;
            now.levels.updates_waiting -= held_[id];
            now.waiting[id] = 0;
            held_[id] = 0;
            return;
        }
        counters.received++;
        counters.updates_in += count;
        switch (random_() % 5) {
        case 0:
            slot.passed_through++;
            slot.updates_passed += count;
            return;
        case 1:
            counters.dropped_contended++;
            counters.updates_contended += count;
            return;
        case 2:
            slot.dropped_reward++;
            slot.updates_dropped += count;
            return;
        default:
            break;
        }
        if (now.waiting[id] != 0) {
            slot.aggregated++;
        } else {
            slot.appended++;
            now.waiting[id] = 1;
            now.levels.queue_length++;
        }
        held_[id] += count;
        now.levels.updates_waiting += count;
    }

    std::mt19937 random_{7};
    std::uint64_t held_[clusters] = {};

  public:
    Queue() {
        now.clusters.resize(clusters);
        now.waiting.resize(clusters);
    }
};

void expect_identities(Snapshot snapshot) {
    snapshot.slots = {};
    for (const auto &cluster : snapshot.clusters)
        add(snapshot.slots, cluster);
    const Numbers numbers{.slots = &snapshot.slots,
                          .cpus = &snapshot.counters,
                          .acks = &snapshot.acks,
                          .window = nullptr,
                          .losses = nullptr,
                          .levels = &snapshot.levels};
    for (const auto identity :
         {OLAF_IDENTITY_ARRIVALS, OLAF_IDENTITY_PLACES, OLAF_IDENTITY_UPDATES}) {
        const auto [left, right] = identity_sides(identity, numbers);
        EXPECT_EQ(left, right) << identity;
    }
}

TEST(Start, IdentitiesHoldOfWhatCameAfterIt) {
    Queue queue;
    queue.live(10'000);
    expect_identities(queue.now);
    const auto start = start_of(queue.now, {}, 1);
    auto at_once = queue.now;
    subtract(at_once, start);
    expect_identities(at_once);
    EXPECT_EQ(at_once.counters.received, queue.now.levels.queue_length);
    EXPECT_EQ(at_once.counters.updates_in, queue.now.levels.updates_waiting);
    queue.live(10'000);
    auto later = queue.now;
    subtract(later, start);
    expect_identities(later);
    EXPECT_LT(later.counters.received, 10'000u);
    EXPECT_GT(later.counters.received, 6'000u);
}

/// A command can't stop the world while it reads.
TEST(Start, MayBeReadWhileUpdatesComeAndGo) {
    Queue queue;
    queue.live(5'000);
    auto torn = queue.now;
    for (std::uint32_t id = 0; id < clusters; id++) {
        queue.live(50);
        torn.clusters[id] = queue.now.clusters[id];
    }
    const auto start = start_of(torn, {}, 1);
    queue.live(5'000);
    auto later = queue.now;
    subtract(later, start);
    expect_identities(later);
}

TEST(Start, IsKeptAsWords) {
    Queue queue;
    queue.live(1'000);
    queue.now.window.emplace().acked = 12;
    olaf_losses losses{};
    losses.frames[OLAF_LOST_DEVICE] = 7;
    const auto start = start_of(queue.now, losses, 99);
    const auto words = words_of(start);
    EXPECT_EQ(words.size(), start_words(clusters));
    const auto again = start_from(words, clusters);
    ASSERT_TRUE(again);
    EXPECT_EQ(words_of(*again), words);
    EXPECT_EQ(again->at_ns, 99u);
    EXPECT_EQ(again->window.acked, 12u);
    EXPECT_EQ(again->losses.frames[OLAF_LOST_DEVICE], 7u);
    EXPECT_FALSE(start_from(words, clusters + 1));
}

} // namespace
} // namespace olaf::test::start_test
