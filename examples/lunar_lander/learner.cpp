// SPDX-License-Identifier: BSD-2-Clause
#include "learner.hpp"

#include <numeric>

namespace olaf::lunar_lander {
namespace {

constexpr std::size_t kEpisodes = 5; // that a mean reward is of

class Worker {
  public:
    Worker(const LearnerOptions &options, Random random)
        : options_(options), ppo_(options.ppo), player_(random),
          batch_(options.steps + (options.whole_episodes ? kMaxEpisode : 0)) {}

    training::Experience experience(const Parameters &weights) {
        batch_.steps.clear();
        player_.play(weights, batch_, options_.steps, options_.whole_episodes, options_.ppo);
        Parameters moved = weights;
        ppo_.learn(moved, batch_, player_.random());
        return {.gradient = moved - weights,
                .mean_reward = mean_reward(),
                .steps = static_cast<int>(batch_.steps.size())};
    }

  private:
    std::optional<float> mean_reward() {
        std::deque<float> &rewards = player_.rewards;
        while (rewards.size() > kEpisodes)
            rewards.pop_front();
        if (rewards.empty())
            return {};
        return std::reduce(rewards.begin(), rewards.end()) / static_cast<float>(rewards.size());
    }

    LearnerOptions options_;
    Ppo ppo_;
    Player player_;
    Batch batch_;
};

} // namespace

void Player::play(const Parameters &weights, Batch &batch, int steps, bool whole_episodes,
                  const PpoOptions &options) {
    const std::size_t first = batch.steps.size();
    for (int played = 0; played < steps || (whole_episodes && plays_); ++played) {
        if (!plays_) {
            environment_.reset(random_);
            reward_ = 0;
            plays_ = true;
        }
        batch.states.col(static_cast<Eigen::Index>(batch.steps.size())) = environment_.state();
        const Decision decision = decide(weights, environment_.state(), random_);
        const auto [reward, status] = environment_.step(decision.action, random_);
        reward_ += reward;
        const bool ends = status != Status::running;
        // Only an end of the game's own ends what may come.
        const bool worth = status == Status::truncated || (!ends && played + 1 >= steps);
        batch.steps.push_back(
            {.decision = decision,
             .reward = reward * options.reward_scale,
             .ends = ends,
             .value_after = worth ? evaluate(weights, environment_.state())[kActions] : 0});
        if (ends) {
            rewards.push_back(reward_);
            plays_ = false;
        }
    }
    estimate(batch, first, options);
}

training::Learner learner(const LearnerOptions &options, Random random) {
    // Shared, since a learner is copied and a game can't be.
    return [worker = std::make_shared<Worker>(options, random)](std::span<const float> weights) {
        return worker->experience(Eigen::Map<const Parameters>(weights.data()));
    };
}

} // namespace olaf::lunar_lander
