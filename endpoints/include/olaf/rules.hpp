// SPDX-License-Identifier: BSD-2-Clause
// How a parameter server changes its weights when an update arrives.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include <olaf/segments.hpp>

namespace olaf {

/// One received update, checked and unpacked.
struct Contribution {
    std::span<const float> mean_gradient = {}; ///< of the slice: sum over the folded / count
    Slice slice = {};                          ///< the elements of the model that it is for
    std::uint16_t segment = 0;
    std::uint16_t segments = 1;
    std::uint32_t count = 1;         ///< updates folded in
    double mean_reward = 0;          ///< over those
    std::uint32_t worker = 0;        ///< of the newest folded
    std::uint32_t model_version = 0; ///< oldest weights that a folded gradient was computed on
    std::int64_t generated_ns = 0;   ///< of the newest folded, CLOCK_TAI
};

/// Changes `weights`, the slice's, in place and says whether it did. Called from the
/// server's thread; it may keep state, and each cluster needs a rule object of its own.
using Rule = std::function<bool(const Contribution &contribution, std::span<float> weights)>;

/// Section 2.1 of the paper. Applies an update only if its mean reward is above the
/// stored global reward r_g, which starts at −∞ and becomes that of each update
/// applied. Then g_a ← (g_a + g_i) / 2, with g_i the mean gradient (the first
/// update applied sets g_a = g_i), and w ← w + learning_rate · g_a. Segments are updates of
/// their own, each with an r_g and a g_a.
[[nodiscard]] Rule paper_rule(double learning_rate = 0.001);

/// Plain asynchronous SGD: w ← w + learning_rate · mean gradient · count, that is, exactly
/// the step that the folded updates would have made one by one. Applies every update.
[[nodiscard]] Rule async_sgd_rule(double learning_rate = 0.001);

} // namespace olaf
