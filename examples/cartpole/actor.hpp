// SPDX-License-Identifier: BSD-2-Clause
// A worker's brain without its network: plays whole episodes with the weights
// it has and turns them into one policy gradient.
#pragma once

#include "policy.hpp"

#include "examples/training/worker.hpp"

namespace olaf::cartpole {

struct ActorOptions {
    int min_steps = 1; ///< play whole episodes until at least so many steps: one episode
    float discount = 0.99F;
    float trace = 0.95F; ///< λ of generalised advantage estimation
    float clip = 0.5F;   ///< largest norm of a gradient
    Objective objective;
};

using training::Experience;

class Actor {
  public:
    Actor(const ActorOptions &options, Random random) : options_(options), random_(random) {}

    /// Play with these weights and return the gradient at them. The reward is the mean length of
    /// its episodes.
    Experience experience(const Parameters &parameters);

  private:
    /// Plays one episode into the batch; returns its length.
    int play(const Parameters &parameters);
    /// Fills in advantages and returns of the batch's last episode.
    void estimate(std::size_t first, float value_after);

    ActorOptions options_;
    Random random_;
    Environment environment_;
    Batch batch_;
    std::vector<float> values_;
};

/// An actor for a worker's loop.
training::Learner learner(const ActorOptions &options, Random random);

} // namespace olaf::cartpole
