// SPDX-License-Identifier: BSD-2-Clause
// Which of two queues is the more congested: the table of protocol.md, and what follows from it.
#include <gtest/gtest.h>

#include "olaf/congestion.h"

namespace olaf::test::congestion_test {
namespace {

struct Row {
    const char *what;
    olaf_congestion ours, theirs; // N, Qmax, Qn
    bool overwrites;
};

class Congestion : public testing::TestWithParam<Row> {};

TEST_P(Congestion, TheMoreCongestedQueueWins) {
    const auto &row = GetParam();
    EXPECT_EQ(olaf_more_congested(&row.ours, &row.theirs) != 0, row.overwrites);
    if (row.overwrites) {
        EXPECT_FALSE(olaf_more_congested(&row.theirs, &row.ours));
    }
}

INSTANTIATE_TEST_SUITE_P(
    Table, Congestion,
    testing::Values(Row{"larger_load", {9, 8, 0}, {8, 8, 8}, true},
                    Row{"smaller_load", {8, 8, 8}, {9, 8, 0}, false},
                    Row{"larger_load_of_a_larger_queue", {21, 20, 0}, {4, 4, 4}, true},
                    Row{"smaller_load_with_more_clusters", {100, 100, 0}, {3, 2, 0}, false},
                    Row{"equal_load_fuller", {8, 8, 5}, {4, 4, 2}, true},
                    Row{"equal_load_emptier", {8, 8, 3}, {4, 4, 2}, false},
                    Row{"equal", {8, 8, 4}, {4, 4, 2}, false},
                    Row{"both_idle", {0, 8, 0}, {0, 4, 0}, false},
                    Row{"most_against_most",
                        {65535, 0xffffffff, 0xffffffff},
                        {65535, 0xfffffffe, 0xfffffffe},
                        false},
                    Row{"by_one_in_four_thousand_million",
                        {65535, 0xfffffffe, 0},
                        {65535, 0xffffffff, 0xffffffff},
                        true},
                    Row{"a_stamp_of_no_queue", {0, 1, 0}, {65535, 0, 9}, true}),
    [](const auto &info) { return info.param.what; });

} // namespace
} // namespace olaf::test::congestion_test
