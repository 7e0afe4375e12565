// SPDX-License-Identifier: BSD-2-Clause
#include "actor.hpp"

#include <gtest/gtest.h>

namespace olaf::cartpole {
namespace {

// Weights far from the start, where every term of the gradient matters.
Parameters some_parameters(Random &random) {
    Parameters parameters;
    for (float &parameter : parameters)
        parameter = 0.5F * random.normal();
    return parameters;
}

Batch some_batch(Random &random, int steps) {
    Batch batch;
    for (int step = 0; step < steps; ++step) {
        batch.states.push_back({random.uniform(-2, 2), random.uniform(-2, 2),
                                random.uniform(-0.2F, 0.2F), random.uniform(-2, 2)});
        batch.actions.push_back(random.chance(0.5F) ? 1 : 0);
        batch.advantages.push_back(random.normal());
        batch.returns.push_back(random.uniform(0, 1));
    }
    return batch;
}

TEST(CartPolePolicy, FitsOneFrame) {
    // 1500 − 20 IP − 8 UDP − 48 header = 178 lanes; two parameters a lane and the checksum.
    EXPECT_LE((kParameters + 1) / 2 + 1, 178);
}

TEST(CartPolePolicy, GradientIsTheDerivativeOfTheObjective) {
    Random random{3};
    const Parameters parameters = some_parameters(random);
    const Batch batch = some_batch(random, 20);
    for (const Objective &weights :
         {Objective{.value = 0, .entropy = 0}, Objective{.value = 1, .entropy = 0},
          Objective{.value = 0.5F, .entropy = 0.3F}}) {
        const Parameters analytic = gradient(parameters, batch, weights);
        for (int i = 0; i < kParameters; ++i) {
            constexpr float kStep = 1e-2F;
            Parameters above = parameters, below = parameters;
            above[i] += kStep;
            below[i] -= kStep;
            const double numeric =
                (objective(above, batch, weights) - objective(below, batch, weights)) /
                (static_cast<double>(above[i]) - below[i]);
            ASSERT_NEAR(analytic[i], numeric, 2e-4 + 1e-2 * std::abs(numeric))
                << "parameter " << i << " entropy " << weights.entropy;
        }
    }
}

TEST(CartPolePolicy, DecidesAsTheObjectiveSeesIt) {
    // The objective of one step with advantage 1 is the log-probability of its action.
    Random random{4};
    const Parameters parameters = some_parameters(random);
    Batch batch = some_batch(random, 1);
    batch.advantages[0] = 1;
    const Decision decision = decide(parameters, batch.states[0]);
    batch.actions[0] = 1;
    EXPECT_NEAR(objective(parameters, batch, {.value = 0, .entropy = 0}),
                std::log(decision.push_right), 1e-5);
    batch.advantages[0] = 0;
    batch.returns[0] = decision.value + 2;
    EXPECT_NEAR(objective(parameters, batch, {.value = 1, .entropy = 0}), -2, 1e-5);
}

TEST(CartPolePolicy, StaysFiniteWhenCertain) {
    Random random{5};
    const Parameters parameters = 100 * some_parameters(random);
    const Batch batch = some_batch(random, 50);
    EXPECT_TRUE(gradient(parameters, batch, {}).allFinite());
    EXPECT_TRUE(std::isfinite(objective(parameters, batch, {})));
}

TEST(CartPolePolicy, ClipsTheNormAndKeepsTheDirection) {
    Parameters vector = Parameters::Zero();
    vector[0] = 3;
    vector[1] = -4;
    EXPECT_FLOAT_EQ(clip_norm(vector, 0.5F), 5);
    EXPECT_FLOAT_EQ(vector[0], 0.3F);
    EXPECT_FLOAT_EQ(vector[1], -0.4F);
    EXPECT_FLOAT_EQ(clip_norm(vector, 1), 0.5F);
    EXPECT_FLOAT_EQ(vector[0], 0.3F) << "already short enough";
}

TEST(CartPoleActor, OneEpisodeIsOneUpdate) {
    Random random{6};
    const Parameters parameters = initial_parameters(random);
    Actor actor({}, Random{6, 1});
    for (int update = 0; update < 20; ++update) {
        const Experience experience = actor.experience(parameters);
        EXPECT_EQ(experience.mean_reward, static_cast<float>(experience.steps));
        EXPECT_GE(experience.steps, 8); // no pole falls faster
        EXPECT_TRUE(experience.gradient.allFinite());
        EXPECT_LE(experience.gradient.norm(), ActorOptions{}.clip * 1.0001F);
    }
}

TEST(CartPoleActor, PlaysWholeEpisodesUntilEnoughSteps) {
    Random random{8};
    const Parameters parameters = initial_parameters(random);
    Actor actor({.min_steps = 300, .objective = {}}, Random{8, 1});
    const Experience experience = actor.experience(parameters);
    EXPECT_GE(experience.steps, 300);
    EXPECT_LT(experience.mean_reward, 200);
}

} // namespace
} // namespace olaf::cartpole
