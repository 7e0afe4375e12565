// SPDX-License-Identifier: BSD-2-Clause
// Adam (Kingma and Ba, 2015, algorithm 1) that climbs: it adds what it computes.
#pragma once

#include <Eigen/Core>

#include <algorithm>
#include <cmath>

namespace olaf::training {

struct AdamOptions {
    float rate = 0.001F;
    float keep_first = 0.9F;    ///< β1
    float keep_second = 0.999F; ///< β2
    float epsilon = 1e-5F;
    float most_steps = 10; ///< beyond so many at once a step grows no longer
};

class Adam {
  public:
    Adam(Eigen::Index size, const AdamOptions &options)
        : options_(options), first_(Eigen::ArrayXf::Zero(size)),
          second_(Eigen::ArrayXf::Zero(size)) {}

    /// Moves the weights along a direction of ascent. With `steps` of n it counts as n directions
    /// that were averaged: the moments forget n times, and the step is n times as long.
    void step(Eigen::Ref<Eigen::VectorXf> weights, Eigen::Ref<const Eigen::VectorXf> ascent,
              float steps = 1) {
        const float keep_first = std::pow(options_.keep_first, steps);
        const float keep_second = std::pow(options_.keep_second, steps);
        first_ = keep_first * first_ + (1 - keep_first) * ascent.array();
        second_ = keep_second * second_ + (1 - keep_second) * ascent.array().square();
        unseen_first_ *= keep_first;
        unseen_second_ *= keep_second;
        weights.array() += options_.rate * std::min(steps, options_.most_steps) *
                           (first_ / (1 - unseen_first_)) /
                           ((second_ / (1 - unseen_second_)).sqrt() + options_.epsilon);
    }

  private:
    AdamOptions options_;
    Eigen::ArrayXf first_;
    Eigen::ArrayXf second_;
    // The share of the moments that is still their start at zero.
    float unseen_first_ = 1;
    float unseen_second_ = 1;
};

} // namespace olaf::training
