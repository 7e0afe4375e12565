// SPDX-License-Identifier: BSD-2-Clause
#include "actor.hpp"

namespace olaf::cartpole {
namespace {

/// Bring the advantages to about unit scale. They aren't centred: a batch may be
/// a single episode, and that one was good or bad as a whole. The floor keeps a
/// batch without surprises (the pole stays up, as the value said) from being
/// blown up into noise that would unlearn a good policy.
void normalise(std::vector<float> &advantages) {
    constexpr float kFloor = 0.3F;
    Eigen::Map<Eigen::ArrayXf> all(advantages.data(), static_cast<Eigen::Index>(advantages.size()));
    all /= std::sqrt(all.square().mean()) + kFloor;
}

} // namespace

Experience Actor::experience(const Parameters &parameters) {
    batch_.clear();
    values_.clear();
    int steps = 0;
    int episodes = 0;
    while (steps < options_.min_steps) {
        steps += play(parameters);
        ++episodes;
    }
    normalise(batch_.advantages);

    Parameters ascent = gradient(parameters, batch_, options_.objective);
    clip_norm(ascent, options_.clip);
    return {.gradient = ascent,
            .mean_reward = static_cast<float>(steps) / static_cast<float>(episodes),
            .steps = steps};
}

int Actor::play(const Parameters &parameters) {
    const std::size_t first = batch_.size();
    environment_.reset(random_);
    Status status = Status::running;
    while (status == Status::running) {
        const State before = environment_.state();
        const Decision decision = decide(parameters, before);
        const int action = random_.chance(decision.push_right) ? 1 : 0;
        status = environment_.step(action);
        batch_.states.push_back(before);
        batch_.actions.push_back(action);
        values_.push_back(decision.value);
    }
    // An episode cut off by the step limit would have gone on.
    const bool cut = status == Status::truncated;
    estimate(first, cut ? decide(parameters, environment_.state()).value : 0.0F);
    return environment_.steps();
}

void Actor::estimate(std::size_t first, float value_after) {
    // Rewards of 1 − γ instead of 1 keep values in 0 … 1, where a small network
    // learns them quickly.
    const float reward = 1.0F - options_.discount;
    batch_.advantages.resize(batch_.size());
    batch_.returns.resize(batch_.size());
    float next_value = value_after;
    float advantage = 0;
    for (std::size_t step = batch_.size(); step-- > first;) {
        const float surprise = reward + options_.discount * next_value - values_[step];
        advantage = surprise + options_.discount * options_.trace * advantage;
        batch_.advantages[step] = advantage;
        batch_.returns[step] = advantage + values_[step];
        next_value = values_[step];
    }
}

training::Learner learner(const ActorOptions &options, Random random) {
    return [actor = Actor(options, random)](std::span<const float> weights) mutable {
        return actor.experience(Eigen::Map<const Parameters>(weights.data()));
    };
}

} // namespace olaf::cartpole
