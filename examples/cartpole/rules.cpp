// SPDX-License-Identifier: BSD-2-Clause
#include "rules.hpp"

#include "policy.hpp"

#include "examples/training/adam.hpp"

namespace olaf::cartpole {
Rule adam_rule(double learning_rate) {
    training::Adam adam(kParameters,
                        {.rate = static_cast<float>(learning_rate), .keep_second = 0.99F});
    return [adam](const Contribution &update, std::span<float> weights) mutable {
        if (weights.size() != kParameters)
            return false;
        adam.step(Eigen::Map<Parameters>(weights.data()),
                  Eigen::Map<const Parameters>(update.mean_gradient.data()),
                  static_cast<float>(update.count));
        return true;
    };
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
