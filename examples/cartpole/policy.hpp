// SPDX-License-Identifier: BSD-2-Clause
// The model: 4 observations, 32 tanh units, and a linear head of two action
// logits and one value. Policy and value share the hidden layer (as the paper
// does, section 8.2) so that all 259 parameters travel in one 1,500-byte frame:
// 130 lanes of i32x2.
#pragma once

#include "environment.hpp"

#include <array>
#include <vector>

namespace olaf::cartpole {

inline constexpr int kHidden = 32;
inline constexpr int kOutputs = kActions + 1;
inline constexpr int kParameters =
    kHidden * kObservations + kHidden + kOutputs * kHidden + kOutputs;

/// All weights, or a gradient, in the order in which they travel.
using Parameters = Eigen::Matrix<float, kParameters, 1>;

/// What the network says of one state.
struct Decision {
    float push_right; ///< probability of action 1
    float value;      ///< expected discounted return, in units of Objective::reward_scale
};

/// Steps of whole episodes with what the estimator made of them.
struct Batch {
    std::vector<State> states; ///< raw, as the environment gave them
    std::vector<int> actions;
    std::vector<float> advantages;
    std::vector<float> returns; ///< what the value output should have said

    [[nodiscard]] std::size_t size() const { return actions.size(); }
    void clear();
};

/// Weights of the three parts of the objective.
struct Objective {
    float value = 0.5F;
    float entropy = 0.01F;
};

/// Small random weights; the action head starts near zero, so near a fair coin.
Parameters initial_parameters(Random &random);

Decision decide(const Parameters &parameters, const State &state);

/// Advantage actor-critic: mean over the batch of
///   advantage · log π(action) + entropy · H(π) − value · (V − return)² / 2.
double objective(const Parameters &parameters, const Batch &batch, const Objective &weights);

/// Its gradient: the direction in which the weights should move.
Parameters gradient(const Parameters &parameters, const Batch &batch, const Objective &weights);

/// Shorten a gradient to at most this Euclidean norm; returns the norm before.
float clip_norm(Parameters &gradient, float limit);

} // namespace olaf::cartpole
