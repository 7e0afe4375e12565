// SPDX-License-Identifier: BSD-2-Clause
// The model itself, on sequences short enough to be checked by hand against design.md.
#include <gtest/gtest.h>

#include "model.hpp"

using namespace olaf::model;

namespace {

constexpr std::uint64_t busy = UINT64_MAX;

Update from(std::uint32_t cluster, std::uint32_t worker, std::uint64_t lane = 1) {
    return {.cluster = cluster,
            .worker = worker,
            .shape = {.lanes = 1},
            .lanes = {lane},
            .headers = {.bytes = std::vector<std::uint8_t>(42, 0x45), .l3 = 14, .l4 = 34}};
}

Queue busy_queue(std::size_t capacity) {
    Queue queue({.queue_capacity = capacity});
    queue.pacer.next = busy;
    return queue;
}

Action offer(Queue &queue, const Update &update) { return queue.arrive(1, update, 98).action; }

TEST(Model, PassesThroughWhenNothingWaitsAndTheLinkIsFree) {
    Queue queue({});
    EXPECT_EQ(offer(queue, from(1, 1)), Action::passed_through);
    EXPECT_TRUE(queue.ring().empty());
}

TEST(Model, TheHeadRidesOnTheArrivalAndFreesItsPlaceFirst) {
    Queue queue = busy_queue(1);
    EXPECT_EQ(offer(queue, from(1, 1)), Action::appended);
    EXPECT_EQ(offer(queue, from(2, 1)), Action::full);
    queue.pacer.next = 0;
    auto outcome = queue.arrive(1, from(2, 1), 98);
    EXPECT_EQ(outcome.action, Action::appended);
    ASSERT_TRUE(outcome.departure);
    EXPECT_EQ(outcome.departure->cluster, 1u);
    EXPECT_TRUE(queue.conserves());
}

TEST(Model, AHeadThatDoesNotFitTheArrivalStays) {
    Queue queue = busy_queue(2);
    offer(queue, from(1, 1));
    queue.pacer.next = 0;
    auto outcome = queue.arrive(1, from(2, 1), 98, 97);
    EXPECT_FALSE(outcome.departure);
    EXPECT_EQ(queue.ring().size(), 2u);
}

TEST(Model, FoldsInPlaceKeepingTheOrder) {
    Queue queue = busy_queue(8);
    offer(queue, from(1, 1, 10));
    offer(queue, from(2, 1));
    EXPECT_EQ(offer(queue, from(1, 2, 5)), Action::aggregated);
    EXPECT_EQ(queue.ring()[0].update.lanes[0], 15u);
    EXPECT_EQ(queue.ring()[0].update.count, 2u);
    EXPECT_EQ(queue.ring()[0].update.worker, 2u);
    EXPECT_EQ(queue.ring()[1].update.cluster, 2u);
}

TEST(Model, SealsAtMaxCountAndUsesTheSecondBufferOnce) {
    Queue queue = busy_queue(8);
    queue.set_rule(1, {.policy = Policy::aggregate, .max_count = 2});
    EXPECT_EQ(offer(queue, from(1, 1)), Action::appended);
    EXPECT_EQ(offer(queue, from(1, 2)), Action::aggregated);
    EXPECT_EQ(offer(queue, from(1, 3)), Action::appended);
    EXPECT_EQ(offer(queue, from(1, 4)), Action::aggregated);
    EXPECT_EQ(offer(queue, from(1, 5)), Action::sealed);
    EXPECT_TRUE(queue.conserves());
}

TEST(Model, WhatLeavesInTheArrivingFrameStillHoldsItsBuffer) {
    Queue queue = busy_queue(8);
    queue.set_rule(1, {.policy = Policy::aggregate, .max_count = 1});
    offer(queue, from(1, 1));
    offer(queue, from(1, 2));
    queue.pacer.next = 0;
    EXPECT_EQ(offer(queue, from(1, 3)), Action::sealed);
    EXPECT_EQ(queue.ring().size(), 1u);
    queue.pacer.next = busy;
    EXPECT_EQ(offer(queue, from(1, 4)), Action::appended);
}

TEST(Model, WhatADrainIsCopyingHoldsItsBufferUntilItIsDone) {
    Queue queue = busy_queue(8);
    queue.set_rule(1, {.policy = Policy::aggregate, .max_count = 1});
    offer(queue, from(1, 1));
    offer(queue, from(1, 2));
    queue.pacer.next = 0;
    ASSERT_TRUE(queue.begin_drain(1));
    queue.pacer.next = busy;
    EXPECT_EQ(offer(queue, from(1, 3)), Action::sealed);
    queue.copied();
    EXPECT_EQ(offer(queue, from(1, 4)), Action::appended);
    EXPECT_TRUE(queue.conserves());
}

TEST(Model, FifoNeverMerges) {
    Queue queue = busy_queue(3);
    queue.set_rule(1, {.policy = Policy::fifo});
    for (int i = 0; i < 3; i++)
        EXPECT_EQ(offer(queue, from(1, 1)), Action::appended);
    EXPECT_EQ(offer(queue, from(1, 1)), Action::full);
}

TEST(Model, PacesAtTheRateWithCreditForOneDrainInterval) {
    Pacer pacer{.ns_per_byte_q24 = 10ull << 24, .drain_interval_ns = 5000};
    pacer.depart(1'000'000, 100); // 1 µs each, 5 µs saved up
    EXPECT_EQ(pacer.next, 996'000u);
    for (int i = 0; i < 5; i++) {
        ASSERT_TRUE(pacer.due(1'000'000)) << i;
        pacer.depart(1'000'000, 100);
    }
    EXPECT_EQ(pacer.next, 1'001'000u);
    EXPECT_FALSE(pacer.due(1'000'999));
    EXPECT_TRUE(pacer.due(1'001'000));
}

TEST(Model, CountsClustersOfTheLastWindow) {
    Queue queue({.activity_window_ns = 100});
    queue.arrive(1000, from(1, 1), 98);
    queue.arrive(1050, from(2, 1), 98);
    EXPECT_EQ(queue.active_clusters(1099), 2u);
    queue.arrive(1100, from(2, 1), 98);
    EXPECT_EQ(queue.active_clusters(1150), 2u); // 1 in the epoch before, 2 in this one
    queue.arrive(1210, from(3, 1), 98);
    EXPECT_EQ(queue.active_clusters(1210), 2u); // 2 and 3
    EXPECT_EQ(queue.active_clusters(1300), 1u); // 3
    EXPECT_EQ(queue.active_clusters(1400), 0u);
}

} // namespace
