// SPDX-License-Identifier: BSD-2-Clause
#include <olaf/rules.hpp>

#include <limits>
#include <map>
#include <utility>
#include <vector>

namespace olaf {
namespace {

void step(std::span<float> weights, std::span<const float> gradient, float factor) {
    for (std::size_t i = 0; i < weights.size(); i++)
        weights[i] += factor * gradient[i];
}

class PaperRule {
  public:
    explicit PaperRule(double learning_rate) : learning_rate_(static_cast<float>(learning_rate)) {}

    bool operator()(const Contribution &update, std::span<float> weights) {
        State &state = states_[{update.segments, update.segment}];
        if (!(update.mean_reward > state.reward))
            return false;
        state.reward = update.mean_reward;

        const auto gradient = update.mean_gradient;
        if (state.average.empty())
            state.average.assign(gradient.begin(), gradient.end());
        for (std::size_t i = 0; i < gradient.size(); i++)
            state.average[i] = 0.5F * (state.average[i] + gradient[i]);
        step(weights, state.average, learning_rate_);
        return true;
    }

  private:
    struct State {
        double reward = -std::numeric_limits<double>::infinity();
        std::vector<float> average;
    };

    float learning_rate_;
    std::map<std::pair<std::uint16_t, std::uint16_t>, State> states_; // by (segments, segment)
};

} // namespace

Rule paper_rule(double learning_rate) {
    return PaperRule(learning_rate);
}

Rule async_sgd_rule(double learning_rate) {
    return [learning_rate](const Contribution &update, std::span<float> weights) {
        step(weights, update.mean_gradient, static_cast<float>(learning_rate * update.count));
        return true;
    };
}

} // namespace olaf
