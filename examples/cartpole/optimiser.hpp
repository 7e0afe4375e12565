// SPDX-License-Identifier: BSD-2-Clause
// How the parameter server moves a model by an update. An update may stand for
// several (count > 1): rules are told, because the average of eight gradients
// is worth more than one gradient.
#pragma once

#include "policy.hpp"

#include <memory>
#include <span>
#include <string_view>

namespace olaf::cartpole {

/// What an update says, unpacked.
struct Received {
    std::span<const float> gradient; ///< average over the updates folded in
    unsigned count = 1;
    float mean_reward = 0;
};

class Optimiser {
  public:
    virtual ~Optimiser() = default;

    /// Move the weights; false if the rule rejects the update.
    virtual bool apply(std::span<float> weights, const Received &update) = 0;
};

enum class Rule { paper, sgd, adam };

/// "paper", "sgd" or "adam"; a rate of 0 stands for the rule's own.
std::unique_ptr<Optimiser> make_optimiser(Rule rule, float rate = 0);

} // namespace olaf::cartpole
