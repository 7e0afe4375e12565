// SPDX-License-Identifier: BSD-2-Clause
#include "rules.hpp"

#include "policy.hpp"

#include <algorithm>

namespace olaf::cartpole {
namespace {

class Adam {
  public:
    explicit Adam(double learning_rate) : rate_(static_cast<float>(learning_rate)) {}

    bool operator()(const Contribution &update, std::span<float> weights) {
        if (weights.size() != kParameters)
            return false;
        const Eigen::Map<const Parameters> gradient(update.mean_gradient.data());
        const auto steps = static_cast<float>(update.count);
        const float keep_first = std::pow(kKeepFirst, steps);
        const float keep_second = std::pow(kKeepSecond, steps);
        first_ = keep_first * first_ + (1 - keep_first) * gradient.array();
        second_ = keep_second * second_ + (1 - keep_second) * gradient.array().square();
        unseen_first_ *= keep_first;
        unseen_second_ *= keep_second;
        Eigen::Map<Parameters>(weights.data()).array() +=
            rate_ * std::min(steps, kMostSteps) * (first_ / (1 - unseen_first_)) /
            ((second_ / (1 - unseen_second_)).sqrt() + kEpsilon);
        return true;
    }

  private:
    using Moments = Eigen::Array<float, kParameters, 1>;
    static constexpr float kKeepFirst = 0.9F;
    static constexpr float kKeepSecond = 0.99F;
    static constexpr float kEpsilon = 1e-5F;
    static constexpr float kMostSteps = 10;

    float rate_;
    Moments first_ = Moments::Zero();
    Moments second_ = Moments::Zero();
    // The share of the moments that is still their start at zero.
    float unseen_first_ = 1;
    float unseen_second_ = 1;
};

} // namespace

Rule adam_rule(double learning_rate) {
    return Adam(learning_rate);
}

Rule make_rule(RuleName name, double learning_rate) {
    const auto or_default = [&](double rate) { return learning_rate > 0 ? learning_rate : rate; };
    switch (name) {
    case RuleName::paper:
        return paper_rule(or_default(1));
    case RuleName::sgd:
        return async_sgd_rule(or_default(0.5));
    case RuleName::adam:
        break;
    }
    return adam_rule(or_default(0.001));
}

} // namespace olaf::cartpole
