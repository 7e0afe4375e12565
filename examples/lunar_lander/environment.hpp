// SPDX-License-Identifier: BSD-2-Clause
// LunarLander on Box2D, by the rules of Gymnasium's LunarLander-v3 (discrete actions, no wind): a
// craft with one main engine and two side engines is to come to rest between two flags.
#pragma once

#include "examples/training/random.hpp"
#include "examples/training/status.hpp"

#include <Eigen/Core>

#include <array>
#include <memory>

class b2Body;

namespace olaf::lunar_lander {

using training::Random;
using training::Status;

inline constexpr int kObservations = 8;
inline constexpr int kActions = 4;
inline constexpr int kMaxEpisode = 1000; // steps of 20 ms

/// Horizontal and vertical place relative to the pad, their velocities, angle, its velocity, and
/// whether the left and the right leg stand on the ground. All are scaled to about ±1.
using State = Eigen::Matrix<float, kObservations, 1>;

/// What the four actions are.
enum Action : int { kNothing, kLeftEngine, kMainEngine, kRightEngine };

struct Step {
    float reward = 0;
    Status status = Status::running;
};

class Environment {
  public:
    Environment();
    ~Environment();
    Environment(Environment &&) noexcept;

    /// Draws a landscape and a first push, and returns the first state.
    const State &reset(Random &random);
    /// Fires one of the engines, or none, for 20 ms. The engines sputter: two numbers are drawn a
    /// step, whatever the action.
    Step step(int action, Random &random);

    [[nodiscard]] const State &state() const { return state_; }
    [[nodiscard]] int steps() const { return steps_; }
    /// Of the craft without its legs, in kg.
    [[nodiscard]] float mass() const;

  private:
    class World; // Box2D's, and what its contacts tell

    /// How good the place is; a step is worth the gain.
    [[nodiscard]] float shaping() const;
    void fire(int action, float along, float across);
    void observe();

    std::unique_ptr<World> world_;
    State state_ = State::Zero();
    float last_shaping_ = 0;
    int steps_ = 0;
};

/// The pilot by rules whose constants Gymnasium publishes with the environment: what it scores here
/// tells whether this is the same environment.
int pilot(const State &state);

} // namespace olaf::lunar_lander
