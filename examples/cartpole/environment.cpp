// SPDX-License-Identifier: BSD-2-Clause
#include "environment.hpp"

namespace olaf::cartpole {
namespace {

constexpr float kGravity = 9.8F;
constexpr float kPoleMass = 0.1F;
constexpr float kTotalMass = 1.0F + kPoleMass;
constexpr float kHalfPole = 0.5F; // the equations use half the pole's length
constexpr float kPoleMoment = kPoleMass * kHalfPole;
constexpr float kForce = 10.0F;
constexpr float kStepSeconds = 0.02F;

/// Time derivative of the state under a horizontal force on the cart.
State derivative(const State &state, float force) {
    const float velocity = state[1];
    const float angle = state[2];
    const float spin = state[3];
    const float sine = std::sin(angle);
    const float cosine = std::cos(angle);

    const float pushed = (force + kPoleMoment * spin * spin * sine) / kTotalMass;
    const float inertia = kHalfPole * (4.0F / 3.0F - kPoleMass * cosine * cosine / kTotalMass);
    const float spin_rate = (kGravity * sine - cosine * pushed) / inertia;
    const float acceleration = pushed - kPoleMoment * spin_rate * cosine / kTotalMass;
    return {velocity, acceleration, spin, spin_rate};
}

} // namespace

const State &Environment::reset(Random &random) {
    State state;
    for (float &value : state)
        value = random.uniform(-0.05F, 0.05F);
    return reset(state);
}

const State &Environment::reset(const State &state) {
    state_ = state;
    steps_ = 0;
    return state_;
}

Status Environment::step(int action) {
    // Explicit Euler, as Gym does it: the old velocity moves the cart.
    state_ += kStepSeconds * derivative(state_, action == 1 ? kForce : -kForce);
    ++steps_;
    if (std::abs(state_[0]) > kTrackLimit || std::abs(state_[2]) > kAngleLimit)
        return Status::terminated;
    return steps_ >= kMaxEpisode ? Status::truncated : Status::running;
}

} // namespace olaf::cartpole
