// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include <olaf/rules.hpp>

namespace olaf::test::rules_test {
namespace {

TEST(PaperRule, GatesOnRewardAndAveragesGradients) {
    const olaf::Rule rule = olaf::paper_rule(0.5);
    std::vector<float> weights = {0.0F};
    const auto deliver = [&](float gradient, double reward) {
        return rule({.mean_gradient = {&gradient, 1}, .slice = {0, 1}, .mean_reward = reward},
                    weights);
    };
    EXPECT_TRUE(deliver(4.0F, -100.0)) << "any reward is above minus infinity";
    EXPECT_EQ(weights[0], 2.0F) << "g_a = 4";
    EXPECT_FALSE(deliver(100.0F, -100.0)) << "not above the stored reward";
    EXPECT_FALSE(deliver(100.0F, -101.0));
    EXPECT_EQ(weights[0], 2.0F);
    EXPECT_TRUE(deliver(0.0F, -99.0));
    EXPECT_EQ(weights[0], 3.0F) << "g_a = (4 + 0) / 2, the rejected gradients left out";
    EXPECT_TRUE(deliver(6.0F, 1.0));
    EXPECT_EQ(weights[0], 5.0F) << "g_a = (2 + 6) / 2";
    EXPECT_FALSE(deliver(6.0F, std::numeric_limits<double>::quiet_NaN()));
}

TEST(PaperRule, SegmentsOfOneUpdateDoNotShutEachOtherOut) {
    const olaf::Rule rule = olaf::paper_rule(1.0);
    std::vector<float> weights = {0.0F};
    const float gradient = 1.0F;
    Contribution update = {.mean_gradient = {&gradient, 1}, .segments = 2, .mean_reward = 7.0};
    EXPECT_TRUE(rule(update, weights));
    EXPECT_FALSE(rule(update, weights));
    update.segment = 1;
    EXPECT_TRUE(rule(update, weights));
}

TEST(PaperRule, CopiesShareNothing) {
    const olaf::Rule first = olaf::paper_rule(1.0);
    std::vector<float> weights = {0.0F};
    const float gradient = 1.0F;
    const Contribution update = {.mean_gradient = {&gradient, 1}, .mean_reward = 7.0};
    const olaf::Rule second = first; // NOLINT: the copy is the point
    EXPECT_TRUE(first(update, weights));
    EXPECT_TRUE(second(update, weights));
}

TEST(AsyncSgd, AnAggregateStepsAsFarAsItsUpdates) {
    const olaf::Rule rule = olaf::async_sgd_rule(0.25);
    const std::vector<float> gradients = {1.0F, 2.0F, 6.0F};
    std::vector<float> one_by_one = {10.0F}, at_once = {10.0F};
    for (const float &gradient : gradients)
        EXPECT_TRUE(rule({.mean_gradient = {&gradient, 1}, .count = 1}, one_by_one));
    const float mean = 3.0F;
    EXPECT_TRUE(rule({.mean_gradient = {&mean, 1}, .count = 3, .mean_reward = -1e9}, at_once));
    EXPECT_EQ(one_by_one[0], 12.25F);
    EXPECT_EQ(at_once, one_by_one);
}

} // namespace
} // namespace olaf::test::rules_test
