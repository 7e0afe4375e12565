// SPDX-License-Identifier: BSD-2-Clause
#include "policy.hpp"
#include "rules.hpp"

#include <gtest/gtest.h>

namespace olaf::cartpole {
namespace {

Contribution contribution(const Parameters &gradient, std::uint32_t count) {
    return {.mean_gradient = {gradient.data(), kParameters},
            .slice = {.begin = 0, .end = kParameters},
            .count = count};
}

TEST(CartPoleAdam, FirstStepIsTheRateInTheGradientsDirection) {
    Parameters weights = Parameters::Zero();
    Parameters gradient = Parameters::Constant(0.2F);
    gradient[1] = -0.4F;
    const Rule rule = adam_rule(0.01);
    EXPECT_TRUE(rule(contribution(gradient, 1), {weights.data(), kParameters}));
    EXPECT_NEAR(weights[0], 0.01F, 1e-5F);
    EXPECT_NEAR(weights[1], -0.01F, 1e-5F);
}

TEST(CartPoleAdam, AnAggregateMovesAsFarAsItsUpdates) {
    const Parameters gradient = Parameters::Constant(0.1F);
    Parameters singly = Parameters::Zero(), at_once = Parameters::Zero();
    const Rule single_rule = adam_rule(0.01), aggregate_rule = adam_rule(0.01);
    for (int update = 0; update < 4; ++update)
        single_rule(contribution(gradient, 1), {singly.data(), kParameters});
    aggregate_rule(contribution(gradient, 4), {at_once.data(), kParameters});
    EXPECT_NEAR(at_once[0], singly[0], 1e-4F);
    // Both remember the same: the next update moves them alike.
    single_rule(contribution(-gradient, 1), {singly.data(), kParameters});
    aggregate_rule(contribution(-gradient, 1), {at_once.data(), kParameters});
    EXPECT_NEAR(at_once[0], singly[0], 1e-4F);
}

TEST(CartPoleAdam, RejectsAPartOfAModel) {
    const Parameters gradient = Parameters::Ones();
    Parameters weights = Parameters::Zero();
    EXPECT_FALSE(adam_rule(0.01)(contribution(gradient, 1), {weights.data(), 10}));
    EXPECT_TRUE(weights.isZero());
}

} // namespace
} // namespace olaf::cartpole
