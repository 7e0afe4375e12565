// SPDX-License-Identifier: BSD-2-Clause
// Proximal policy optimisation (Schulman et al., 2017): several epochs over the same steps, of
// which the clip keeps the policy near the one that played them.
#pragma once

#include "network.hpp"

#include "examples/training/adam.hpp"

#include <span>
#include <vector>

namespace olaf::lunar_lander {

struct PpoOptions {
    float discount = 0.99F;     ///< γ
    float trace = 0.98F;        ///< λ of generalised advantage estimation
    float clip = 0.2F;          ///< ε: how far a probability's ratio may gain
    float value = 0.5F;         ///< weight of the value's error
    float entropy = 0.01F;      ///< weight of the entropy
    float norm = 0.5F;          ///< longest gradient of a minibatch
    float reward_scale = 0.01F; ///< brings returns to about ±1
    int epochs = 4;
    int minibatch = 64; ///< steps; what is left of an epoch is not used
    training::AdamOptions adam = {.rate = 6e-4F};
};

/// Steps in the order in which they were played, with what the estimator made of them.
struct Batch {
    explicit Batch(Eigen::Index most) : states(kObservations, most) { steps.reserve(most); }

    struct Step {
        Decision decision;     ///< of the policy that played
        float reward = 0;      ///< scaled
        bool ends = false;     ///< nothing of what follows counts here
        float value_after = 0; ///< of the state behind it where none follows in the batch, or
                               ///< that the step limit cut off; 0 after an end
        float advantage = 0;
        float expected_return = 0; ///< what the value should have said
    };
    States states;
    std::vector<Step> steps;
};

/// Generalised advantage estimation (Schulman et al., 2016, equation 16) over steps [first, end).
void estimate(Batch &batch, std::size_t first, const PpoOptions &options);

/// Mean over these steps of the clipped surrogate (equation 7) + entropy · H − value · error² / 2.
/// Advantages are brought to mean 0 and deviation 1 first.
double objective(const Parameters &parameters, const Batch &batch, std::span<const int> steps,
                 const PpoOptions &options);

/// Its gradient: the direction in which the weights should move. Not shortened.
Parameters gradient(const Parameters &parameters, const Batch &batch, std::span<const int> steps,
                    const PpoOptions &options);

/// Adam's moments outlive a batch: they are the learner's memory.
class Ppo {
  public:
    explicit Ppo(const PpoOptions &options) : options_(options), adam_(kParameters, options.adam) {}

    /// Moves the weights by some epochs over a batch, in an order drawn at random.
    void learn(Parameters &weights, const Batch &batch, Random &random);

  private:
    PpoOptions options_;
    training::Adam adam_;
    std::vector<int> order_;
};

} // namespace olaf::lunar_lander
