// SPDX-License-Identifier: BSD-2-Clause
// CartPole-v1: a pole balanced on a cart that is pushed left or right (Barto,
// Sutton and Anderson, 1983; constants and termination as in OpenAI Gym).
// Every step is worth 1, so the reward of an episode is its length.
#pragma once

#include "examples/training/random.hpp"
#include "examples/training/status.hpp"

#include <Eigen/Core>

namespace olaf::cartpole {

using training::Random;
using training::Status;

inline constexpr int kObservations = 4;
inline constexpr int kActions = 2;
inline constexpr int kMaxEpisode = 500;

/// Cart position [m], its velocity, pole angle from upright [rad], its velocity.
using State = Eigen::Matrix<float, kObservations, 1>;

class Environment {
  public:
    static constexpr float kTrackLimit = 2.4F;
    static constexpr float kAngleLimit = 12.0F * std::numbers::pi_v<float> / 180.0F;

    /// Start an episode near upright and return its first state.
    const State &reset(Random &random);

    /// Start an episode from a given state.
    const State &reset(const State &state);

    /// Push left (0) or right (1) for 20 ms. The episode ends where the pole falls or the cart
    /// leaves the track.
    Status step(int action);

    [[nodiscard]] const State &state() const { return state_; }
    [[nodiscard]] int steps() const { return steps_; }

  private:
    State state_ = State::Zero();
    int steps_ = 0;
};

} // namespace olaf::cartpole
