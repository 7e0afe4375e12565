// SPDX-License-Identifier: BSD-2-Clause
#include "ppo.hpp"

#include <algorithm>
#include <numeric>

namespace olaf::lunar_lander {
namespace {

using Actions = Eigen::Array<float, kActions, 1>;

States states_of(const Batch &batch, std::span<const int> steps) {
    return batch.states(Eigen::all, steps);
}

/// What normalises the advantages of some steps.
struct Advantages {
    float mean = 0;
    float deviation = 0;

    Advantages(const Batch &batch, std::span<const int> steps) {
        const auto count = static_cast<float>(steps.size());
        for (const int step : steps)
            mean += batch.steps[step].advantage / count;
        for (const int step : steps)
            deviation += std::pow(batch.steps[step].advantage - mean, 2.0F) / count;
        deviation = std::sqrt(deviation);
    }
    // Equal advantages say nothing: all become 0.
    [[nodiscard]] float normal(float advantage) const {
        return (advantage - mean) / (deviation + 1e-8F);
    }
};

/// What the network says now of a step that was played before.
struct Now {
    Actions log_probabilities, probabilities;
    float ratio;     // of the taken action's probability to what it was
    float advantage; // normalised
    float error;     // of the value

    Now(const OutputColumns &outputs, Eigen::Index column, const Batch::Step &step,
        const Advantages &advantages) {
        const Actions logits = outputs.col(column).head<kActions>();
        const float highest = logits.maxCoeff();
        log_probabilities = logits - highest - std::log((logits - highest).exp().sum());
        probabilities = log_probabilities.exp();
        ratio = std::exp(log_probabilities[step.decision.action] - step.decision.log_probability);
        advantage = advantages.normal(step.advantage);
        error = outputs(kActions, column) - step.expected_return;
    }
    [[nodiscard]] float entropy() const { return -(probabilities * log_probabilities).sum(); }
    /// The policy has gained from this step all that it may.
    [[nodiscard]] bool beyond(float clip) const {
        return advantage > 0 ? ratio > 1 + clip : ratio < 1 - clip;
    }
};

} // namespace

void estimate(Batch &batch, std::size_t first, const PpoOptions &options) {
    float advantage = 0;
    for (std::size_t at = batch.steps.size(); at-- > first;) {
        Batch::Step &step = batch.steps[at];
        const bool goes_on = !step.ends && at + 1 < batch.steps.size();
        const float after = goes_on ? batch.steps[at + 1].decision.value : step.value_after;
        const float surprise = step.reward + options.discount * after - step.decision.value;
        advantage = surprise + (goes_on ? options.discount * options.trace * advantage : 0);
        step.advantage = advantage;
        step.expected_return = advantage + step.decision.value;
    }
}

double objective(const Parameters &parameters, const Batch &batch, std::span<const int> steps,
                 const PpoOptions &options) {
    const Forward forward(parameters, states_of(batch, steps));
    const Advantages advantages(batch, steps);
    double sum = 0;
    for (std::size_t at = 0; at < steps.size(); ++at) {
        const Now now(forward.outputs(), static_cast<Eigen::Index>(at), batch.steps[steps[at]],
                      advantages);
        const float clipped = std::clamp(now.ratio, 1 - options.clip, 1 + options.clip);
        sum += std::min(now.ratio * now.advantage, clipped * now.advantage) +
               options.entropy * now.entropy() - options.value * now.error * now.error / 2;
    }
    return sum / static_cast<double>(steps.size());
}

Parameters gradient(const Parameters &parameters, const Batch &batch, std::span<const int> steps,
                    const PpoOptions &options) {
    const Forward forward(parameters, states_of(batch, steps));
    const Advantages advantages(batch, steps);
    OutputColumns by_outputs(kOutputs, steps.size());
    for (std::size_t at = 0; at < steps.size(); ++at) {
        const Batch::Step &step = batch.steps[steps[at]];
        const auto column = static_cast<Eigen::Index>(at);
        const Now now(forward.outputs(), column, step, advantages);
        const float push = now.beyond(options.clip) ? 0 : now.ratio * now.advantage;
        Actions by_logits = -push * now.probabilities;
        by_logits[step.decision.action] += push;
        by_logits -= options.entropy * now.probabilities * (now.log_probabilities + now.entropy());
        by_outputs.col(column) << by_logits.matrix(), -options.value * now.error;
    }
    by_outputs /= static_cast<float>(steps.size());
    return forward.backward(by_outputs);
}

void Ppo::learn(Parameters &weights, const Batch &batch, Random &random) {
    order_.resize(batch.steps.size());
    std::iota(order_.begin(), order_.end(), 0);
    for (int epoch = 0; epoch < options_.epochs; ++epoch) {
        for (std::size_t left = order_.size(); left > 1; --left)
            std::swap(
                order_[left - 1],
                order_[static_cast<std::size_t>(random.uniform() * static_cast<float>(left))]);
        std::span<const int> rest(order_);
        for (const auto size = static_cast<std::size_t>(options_.minibatch); rest.size() >= size;
             rest = rest.subspan(size)) {
            Parameters ascent = gradient(weights, batch, rest.first(size), options_);
            if (const float norm = ascent.norm(); norm > options_.norm)
                ascent *= options_.norm / norm;
            adam_.step(weights, ascent);
        }
    }
}

} // namespace olaf::lunar_lander
