// SPDX-License-Identifier: BSD-2-Clause
// What members order: SETH, FBCAST, HALT, RESUME; and who may.
#include "rounds_members_test.hpp"

namespace olaf::test::rounds_orders_test {
namespace {

class RoundsOrders : public RoundsMembers {};

TEST_F(RoundsOrders, AStrangerOrdersNothing) {
    added(0, 0, 5);
    for (const auto action : {OLAF_CONTROL_JOIN, OLAF_CONTROL_LEAVE, OLAF_CONTROL_HALT,
                              OLAF_CONTROL_RESET, OLAF_CONTROL_SETH, OLAF_CONTROL_FBCAST})
        dropped(offer({.type = OLAF_CONTROL, .flags = 0, .rank = 0,
                       .count = static_cast<std::uint32_t>(action), .chunks = 1},
                      path_of(5)));
    EXPECT_EQ(queue.counters().not_allowed[OLAF_NOT_ALLOWED_JOB_SOURCE], 6u);
    EXPECT_EQ(counters().controls, 0u);
    EXPECT_EQ(job().membership.away, 0u);
    EXPECT_EQ(job().generation, job_generation);
    EXPECT_EQ(job().setup.threshold, 3u);
}

TEST_F(RoundsOrders, AnOrderThatThereIsntIsMalformed) {
    added(0, 0, 5);
    dropped(offer({.type = OLAF_CONTROL, .flags = 0, .rank = 0, .count = 9, .chunks = 0}));
    dropped(offer({.type = OLAF_CONTROL, .flags = 0, .rank = 0, .count = 0, .chunks = 0}));
    EXPECT_EQ(queue.counters().malformed[OLAF_MALFORMED_TYPE], 2u);
}

TEST_F(RoundsOrders, AThresholdHoldsFromNowOn) {
    EXPECT_EQ(order(OLAF_CONTROL_SETH, 0, 0, stamp, 0).exponent, OLAF_CONTROL_REFUSED);
    EXPECT_EQ(order(OLAF_CONTROL_SETH, 0, 0, stamp, 4).exponent, OLAF_CONTROL_REFUSED);
    EXPECT_EQ(order(OLAF_CONTROL_SETH, 0, 0, stamp, 2).exponent, OLAF_CONTROL_DONE);
    added(0, 0, 5);
    added(1, 0, 5);
    const auto sum = asked_again(0, 0, 5);
    EXPECT_EQ(sum.count, 2u);
    EXPECT_EQ(sum.flags & OLAF_FLAG_PARTIAL, OLAF_FLAG_PARTIAL);
}

TEST_F(RoundsOrders, WhatIsOpenWhenAMemberSealsIsCompletedByTheNextRepetition) {
    added(0, 0, 5);
    order(OLAF_CONTROL_FBCAST, 1);
    offer(contribution(0, 0, 5));
    EXPECT_EQ(asked_again(0, 0, 5).flags & OLAF_FLAG_PARTIAL, OLAF_FLAG_PARTIAL);
}

TEST_F(RoundsOrders, AMemberHaltsAndResumes) {
    order(OLAF_CONTROL_HALT, 1);
    dropped(offer(contribution(0, 0, 5)));
    EXPECT_EQ(counters().halted, 1u);
    order(OLAF_CONTROL_RESUME, 1);
    EXPECT_EQ(added(0, 0, 5), 1u);
}

} // namespace
} // namespace olaf::test::rounds_orders_test
