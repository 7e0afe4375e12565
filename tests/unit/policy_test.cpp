// SPDX-License-Identifier: BSD-2-Clause
// What the queue decides, as tables.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "olaf/congestion.h"
#include "policies/registry.bpf.h"

namespace olaf::test::policy_test {
namespace {

// The decision table of each policy, row by row, and the reward comparison against __int128.

constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t highest = std::numeric_limits<std::int64_t>::max();
constexpr std::uint32_t most = std::numeric_limits<std::uint32_t>::max();
constexpr std::int64_t no_filter = -1;
constexpr std::int64_t one = 1 << OLAF_REWARD_FRACTION_BITS;

olaf_rule rule(olaf_policy policy, std::int64_t threshold = no_filter,
               std::uint32_t max_count = OLAF_DEFAULT_MAX_COUNT) {
    return {.policy = policy, .max_count = max_count, .reward_threshold = threshold};
}

struct Row {
    std::string behaviour;
    olaf_rule rule;
    olaf_party waiting, arriving; // worker, count, reward
    olaf_action action;
};

void PrintTo(const Row &row, std::ostream *out) { *out << row.behaviour; }

class PolicyTable : public testing::TestWithParam<Row> {};

TEST_P(PolicyTable, DecidesAsTheRowSays) {
    const Row &row = GetParam();
    EXPECT_EQ(olaf_decide(&row.waiting, &row.arriving, &row.rule), row.action);
}

constexpr auto O = OLAF_POLICY_OLAF;

const std::vector<Row> olaf_rows = {
    {"single_of_same_worker_is_replaced", rule(O), {7, 1, 0}, {7, 1, 0}, OLAF_REPLACE},
    {"same_worker_reward_is_not_looked_at", rule(O, 0), {7, 1, 5}, {7, 1, -5}, OLAF_REPLACE},
    {"same_worker_needs_no_room_for_count", rule(O, no_filter, 1), {7, 1, 0}, {7, 1, 0},
     OLAF_REPLACE},
    {"aggregate_of_same_worker_is_folded", rule(O), {7, 2, 0}, {7, 1, 0}, OLAF_AGGREGATE},
    {"filter_off_folds_any_reward", rule(O), {7, 1, highest}, {8, 1, lowest}, OLAF_AGGREGATE},
    {"filter_off_reaches_max_count", rule(O, no_filter, 8), {7, 7, 0}, {8, 1, 0}, OLAF_AGGREGATE},
    {"filter_off_seals_above_max_count", rule(O, no_filter, 8), {7, 8, 0}, {8, 1, 0}, OLAF_SEAL},
    {"counts_do_not_wrap", rule(O, no_filter, 8), {7, 8, 0}, {8, most, 0}, OLAF_SEAL},
    {"equal_reward_is_within_zero", rule(O, 0), {7, 1, one}, {8, 1, one}, OLAF_AGGREGATE},
    {"at_threshold_above_is_within", rule(O, one), {7, 1, 0}, {8, 1, one}, OLAF_AGGREGATE},
    {"at_threshold_below_is_within", rule(O, one), {7, 1, one}, {8, 1, 0}, OLAF_AGGREGATE},
    {"beyond_threshold_above_takes_over", rule(O, one), {7, 1, 0}, {8, 1, one + 1}, OLAF_REPLACE},
    {"beyond_threshold_below_is_dropped", rule(O, one), {7, 1, one + 1}, {8, 1, 0}, OLAF_DROP},
    {"within_threshold_seals_above_max_count", rule(O, one, 3), {7, 3, 3 * one}, {8, 1, one},
     OLAF_SEAL},
    {"takeover_needs_no_room_for_count", rule(O, 0, 3), {7, 3, 0}, {8, 1, 1}, OLAF_REPLACE},
    {"drop_needs_no_room_for_count", rule(O, 0, 3), {7, 3, 0}, {8, 1, -1}, OLAF_DROP},
    {"means_are_compared_not_sums", rule(O, 0), {7, 3, 3 * one}, {8, 1, one}, OLAF_AGGREGATE},
    {"mean_of_aggregate_arriving", rule(O, 0), {7, 1, one}, {8, 4, 4 * one + 1}, OLAF_REPLACE},
    {"a_third_is_not_rounded", rule(O, 0), {7, 3, 1}, {8, 1, 0}, OLAF_DROP},
    {"extremes_above", rule(O, highest), {7, most, lowest}, {8, 1, highest}, OLAF_REPLACE},
    {"extremes_below", rule(O, highest), {7, 1, highest}, {8, 1, lowest}, OLAF_DROP},
    {"extreme_threshold_is_within", rule(O, highest, most), {7, 1, 0}, {8, 1, highest},
     OLAF_AGGREGATE},
    {"extreme_counts_tiny_means", rule(O, 0), {7, most, highest}, {8, most, lowest}, OLAF_DROP},
    {"unknown_policy_is_olaf", rule(OLAF_POLICIES), {7, 1, 0}, {7, 1, 0}, OLAF_REPLACE},
};

constexpr auto A = OLAF_POLICY_AGGREGATE;

const std::vector<Row> other_rows = {
    {"fifo_never_merges", rule(OLAF_POLICY_FIFO, 0), {7, 1, 0}, {7, 1, 0}, OLAF_SEAL},
    {"fifo_ignores_rewards", rule(OLAF_POLICY_FIFO, 0), {7, 1, 0}, {8, 1, -1}, OLAF_SEAL},
    {"aggregate_folds_same_worker", rule(A), {7, 1, 0}, {7, 1, 0}, OLAF_AGGREGATE},
    {"aggregate_ignores_rewards", rule(A, 0), {7, 1, highest}, {8, 1, lowest}, OLAF_AGGREGATE},
    {"aggregate_reaches_max_count", rule(A, -1, 5), {7, 2, 0}, {8, 3, 0}, OLAF_AGGREGATE},
    {"aggregate_seals_above_max_count", rule(A, -1, 5), {7, 3, 0}, {8, 3, 0}, OLAF_SEAL},
    {"aggregate_counts_do_not_wrap", rule(A, -1, 5), {7, most, 0}, {8, most, 0}, OLAF_SEAL},
    {"newest_replaces_another_worker", rule(OLAF_POLICY_NEWEST), {7, 1, 0}, {8, 1, 0},
     OLAF_REPLACE},
    {"newest_replaces_an_aggregate", rule(OLAF_POLICY_NEWEST, 0, 1), {7, 9, highest}, {8, 1, -1},
     OLAF_REPLACE},
};

const auto name_of = [](const auto &info) { return info.param.behaviour; };
INSTANTIATE_TEST_SUITE_P(Olaf, PolicyTable, testing::ValuesIn(olaf_rows), name_of);
INSTANTIATE_TEST_SUITE_P(Others, PolicyTable, testing::ValuesIn(other_rows), name_of);

TEST(PolicyRegistry, OnlyFifoDoesNotFold) {
    EXPECT_FALSE(olaf_policy_folds(OLAF_POLICY_FIFO));
    for (auto policy : {OLAF_POLICY_OLAF, OLAF_POLICY_AGGREGATE, OLAF_POLICY_NEWEST, OLAF_POLICIES})
        EXPECT_TRUE(olaf_policy_folds(policy)) << policy;
}

/// 1, 0, -1 as the policy header has it, by the compiler's own 128-bit integers.
int compare_wide(const olaf_party &waiting, const olaf_party &arriving, std::int64_t threshold) {
    __extension__ using Wide = __int128;
    Wide difference = static_cast<Wide>(arriving.reward) * waiting.count -
                      static_cast<Wide>(waiting.reward) * arriving.count;
    Wide margin = static_cast<Wide>(threshold) * arriving.count * waiting.count;
    if (difference > margin)
        return 1;
    return difference < -margin ? -1 : 0;
}

TEST(RewardComparison, EqualsWideArithmeticAtEveryCorner) {
    for (std::int64_t r_w : {lowest, lowest + 1, -one, std::int64_t{-1}, std::int64_t{0},
                             std::int64_t{1}, one, highest - 1, highest})
        for (std::int64_t r_a : {lowest, -one, std::int64_t{-1}, std::int64_t{0}, one, highest})
            for (std::uint32_t c_w : {1u, 2u, 65535u, 1u << 31, most - 1, most})
                for (std::uint32_t c_a : {1u, 3u, 65536u, most})
                    for (std::int64_t t : {std::int64_t{0}, std::int64_t{1}, one, highest}) {
                        olaf_party waiting{1, c_w, r_w}, arriving{2, c_a, r_a};
                        ASSERT_EQ(olaf_compare_rewards(&waiting, &arriving, t),
                                  compare_wide(waiting, arriving, t))
                            << r_w << "/" << c_w << " " << r_a << "/" << c_a << " " << t;
                    }
}

TEST(RewardComparison, EqualsWideArithmeticOnRandomBitLengths) {
    std::mt19937_64 random(1);
    auto bits = [&](int most_bits) { return random() >> (64 - 1 - random() % most_bits); };
    for (int i = 0; i < 200'000; i++) {
        auto signed_bits = [&] {
            auto value = static_cast<std::int64_t>(bits(63));
            return random() % 2 ? value : -value;
        };
        olaf_party waiting{1, static_cast<std::uint32_t>(bits(32) | 1), signed_bits()};
        olaf_party arriving{2, static_cast<std::uint32_t>(bits(32) | 1), signed_bits()};
        auto threshold = static_cast<std::int64_t>(bits(63));
        ASSERT_EQ(olaf_compare_rewards(&waiting, &arriving, threshold),
                  compare_wide(waiting, arriving, threshold));
    }
}

// Which of two queues is the more congested: the table of protocol.md, and what follows from it.

struct Stamps {
    const char *what;
    olaf_congestion ours, theirs; // N, Qmax, Qn
    bool overwrites;
};

class Congestion : public testing::TestWithParam<Stamps> {};

TEST_P(Congestion, TheMoreCongestedQueueWins) {
    const auto &row = GetParam();
    EXPECT_EQ(olaf_more_congested(&row.ours, &row.theirs) != 0, row.overwrites);
    if (row.overwrites) {
        EXPECT_FALSE(olaf_more_congested(&row.theirs, &row.ours));
    }
}

INSTANTIATE_TEST_SUITE_P(
    Table, Congestion,
    testing::Values(Stamps{"larger_load", {9, 8, 0}, {8, 8, 8}, true},
                    Stamps{"smaller_load", {8, 8, 8}, {9, 8, 0}, false},
                    Stamps{"larger_load_of_a_larger_queue", {21, 20, 0}, {4, 4, 4}, true},
                    Stamps{"smaller_load_with_more_clusters", {100, 100, 0}, {3, 2, 0}, false},
                    Stamps{"equal_load_fuller", {8, 8, 5}, {4, 4, 2}, true},
                    Stamps{"equal_load_emptier", {8, 8, 3}, {4, 4, 2}, false},
                    Stamps{"equal", {8, 8, 4}, {4, 4, 2}, false},
                    Stamps{"both_idle", {0, 8, 0}, {0, 4, 0}, false},
                    Stamps{"most_against_most",
                        {65535, 0xffffffff, 0xffffffff},
                        {65535, 0xfffffffe, 0xfffffffe},
                        false},
                    Stamps{"by_one_in_four_thousand_million",
                        {65535, 0xfffffffe, 0},
                        {65535, 0xffffffff, 0xffffffff},
                        true},
                    Stamps{"a_stamp_of_no_queue", {0, 1, 0}, {65535, 0, 9}, true}),
    [](const auto &info) { return info.param.what; });

} // namespace
} // namespace olaf::test::policy_test
