// SPDX-License-Identifier: BSD-2-Clause
// Reference states: the equations of Gym's CartPole-v1, evaluated in double
// precision by a separate Python script.
#include "environment.hpp"

#include <gtest/gtest.h>

namespace olaf::cartpole {
namespace {

void expect_state(const State &actual, const State &expected) {
    for (int i = 0; i < kObservations; ++i)
        EXPECT_NEAR(actual[i], expected[i], 1e-5F) << "component " << i;
}

TEST(CartPoleEnvironment, FirstPushFromRestIsAsComputedByHand) {
    // temp = 10/1.1; spin' = −temp / (0.5 · (4/3 − 0.1/1.1)); x'' = temp − 0.05 · spin' / 1.1
    Environment environment;
    environment.reset(State::Zero());
    EXPECT_EQ(environment.step(1), Status::running);
    expect_state(environment.state(), {0, 0.195121951F, 0, -0.292682927F});
    environment.reset(State::Zero());
    environment.step(0);
    expect_state(environment.state(), {0, -0.195121951F, 0, 0.292682927F});
}

TEST(CartPoleEnvironment, FollowsTheReferenceTrajectory) {
    Environment environment;
    environment.reset(State(0.01F, -0.02F, 0.03F, 0.04F));
    for (const int action : {1, 0, 0, 1})
        EXPECT_EQ(environment.step(action), Status::running);
    expect_state(environment.state(),
                 {0.008349148515F, -0.021626799199F, 0.034320397067F, 0.075911698947F});
    for (const int action : {1, 1, 0, 1})
        environment.step(action);
    expect_state(environment.state(),
                 {0.022168385081F, 0.366824086005F, 0.018297291024F, -0.470071374785F});
    EXPECT_EQ(environment.steps(), 8);
}

TEST(CartPoleEnvironment, PoleFallsAfterNinePushesToTheRight) {
    Environment environment;
    environment.reset(State::Zero());
    for (int step = 1; step < 9; ++step)
        ASSERT_EQ(environment.step(1), Status::running) << "step " << step;
    EXPECT_EQ(environment.step(1), Status::terminated);
    EXPECT_LT(environment.state()[2], -Environment::kAngleLimit);
}

TEST(CartPoleEnvironment, EndsWhereTheTrackEnds) {
    Environment environment;
    environment.reset(State(2.39F, 0.4F, 0, 0));
    EXPECT_EQ(environment.step(0), Status::running); // 2.398: the old velocity moves the cart
    environment.reset(State(2.39F, 0.6F, 0, 0));
    EXPECT_EQ(environment.step(0), Status::terminated); // 2.402
    environment.reset(State(-2.39F, -0.6F, 0, 0));
    EXPECT_EQ(environment.step(1), Status::terminated);
}

TEST(CartPoleEnvironment, CutsOffAtFiveHundredSteps) {
    // A hand-made controller: push to where the pole is falling, leaning back to the centre.
    Environment environment;
    environment.reset(State(0.01F, 0, 0.01F, 0));
    Status status = Status::running;
    while (status == Status::running) {
        const State &s = environment.state();
        status = environment.step(0.05F * s[0] + 0.1F * s[1] + s[2] + 0.3F * s[3] > 0 ? 1 : 0);
    }
    EXPECT_EQ(status, Status::truncated);
    EXPECT_EQ(environment.steps(), kMaxEpisode);
}

TEST(CartPoleEnvironment, StartsNearUprightAndRepeatsBySeed) {
    Random first{7, 1, 2}, again{7, 1, 2}, other{7, 2, 1};
    Environment environment;
    const State state = environment.reset(first);
    EXPECT_LE(state.cwiseAbs().maxCoeff(), 0.05F);
    EXPECT_EQ(environment.reset(again), state);
    EXPECT_NE(environment.reset(other), state);
}

} // namespace
} // namespace olaf::cartpole
