// SPDX-License-Identifier: BSD-2-Clause
// A worker's brain without its network: plays some steps with the weights it has and turns them
// into a change of weights.
#pragma once

#include "ppo.hpp"

#include "examples/training/worker.hpp"

#include <deque>

namespace olaf::lunar_lander {

/// Plays on from where it was, episode after episode.
class Player {
  public:
    explicit Player(Random random) : random_(random) {}

    /// Plays so many steps into a batch, or to the end of the episode that they end in, and
    /// estimates their advantages.
    void play(const Parameters &weights, Batch &batch, int steps, bool whole_episodes,
              const PpoOptions &options);

    /// Rewards of the episodes that have ended, oldest first. The caller may take them away.
    std::deque<float> rewards;
    [[nodiscard]] Random &random() { return random_; }

  private:
    Random random_;
    Environment environment_;
    bool plays_ = false; // an episode has begun
    float reward_ = 0;   // of this one so far
};

struct LearnerOptions {
    int steps = 512; ///< of an update
    /// Plays on to the end of an episode, so that an update takes as long as episodes do.
    bool whole_episodes = false;
    PpoOptions ppo = {};
};

/// What some epochs of PPO change in the weights is the update; with a single gradient the ratio
/// would be 1 and the clip would never act. Its reward is the mean of the last five episodes.
[[nodiscard]] training::Learner learner(const LearnerOptions &options, Random random);

} // namespace olaf::lunar_lander
