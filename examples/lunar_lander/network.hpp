// SPDX-License-Identifier: BSD-2-Clause
// The model: 8 observations, twice 40 tanh units, and a linear head of four action logits and one
// value. Policy and value share the hidden layers (as the paper does, section 8.2): 2,205
// parameters, 1,103 lanes of i32x2 and the checksum's, a frame of 8,922 bytes.
#pragma once

#include "environment.hpp"

#include <cstdint>

namespace olaf::lunar_lander {

inline constexpr int kHidden = 40;
inline constexpr int kOutputs = kActions + 1;
inline constexpr int kParameters =
    kHidden * (kObservations + 1) + kHidden * (kHidden + 1) + kOutputs * (kHidden + 1);

/// All weights, a gradient or a change of weights, in the order in which they travel.
using Parameters = Eigen::Matrix<float, kParameters, 1>;
/// Of one state: four logits and the value.
using Outputs = Eigen::Matrix<float, kOutputs, 1>;

/// A batch, one column a step: states; outputs, or derivatives by them.
using States = Eigen::Matrix<float, kObservations, Eigen::Dynamic>;
using OutputColumns = Eigen::Matrix<float, kOutputs, Eigen::Dynamic>;

/// Random orthogonal matrices without biases: the action head a hundredth as long, so that all
/// actions are about equally likely.
Parameters initial_parameters(Random &random);

/// The weights that a cluster starts from, at its server and wherever it is trained.
Parameters first_weights(std::uint64_t seed, std::uint32_t cluster);

Outputs evaluate(const Parameters &parameters, const State &state);

/// The forward pass over a batch, kept for the way back.
class Forward {
  public:
    Forward(const Parameters &parameters, States states);

    [[nodiscard]] const OutputColumns &outputs() const { return outputs_; }
    /// Derivatives by the parameters of a scalar, from those by the outputs.
    [[nodiscard]] Parameters backward(const OutputColumns &by_outputs) const;

  private:
    using HiddenColumns = Eigen::Matrix<float, kHidden, Eigen::Dynamic>;

    const Parameters &parameters_;
    States states_;
    HiddenColumns first_, second_;
    OutputColumns outputs_;
};

/// An action drawn by its probability, with what is needed to learn from it.
struct Decision {
    int action;
    float log_probability;
    float value; ///< expected discounted return, in the units of PpoOptions::reward_scale
};

Decision decide(const Parameters &parameters, const State &state, Random &random);

} // namespace olaf::lunar_lander
