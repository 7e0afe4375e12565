// SPDX-License-Identifier: BSD-2-Clause
#include "rules.hpp"

#include <Eigen/Core>

#include <algorithm>
#include <optional>

namespace olaf::lunar_lander {
namespace {

using Weights = Eigen::Map<Eigen::VectorXf>;
using Mean = Eigen::Map<const Eigen::VectorXf>;

Mean mean_of(const Contribution &update) {
    return {update.mean_gradient.data(), static_cast<Eigen::Index>(update.mean_gradient.size())};
}

Weights view(std::span<float> weights) {
    return {weights.data(), static_cast<Eigen::Index>(weights.size())};
}

} // namespace

Rule mean_rule(double rate) {
    return [rate = static_cast<float>(rate)](const Contribution &update, std::span<float> weights) {
        view(weights) += rate * mean_of(update);
        return true;
    };
}

Rule gated_rule(double rate, double margin) {
    return [apply = async_sgd_rule(rate), margin, average = std::optional<double>()](
               const Contribution &update, std::span<float> weights) mutable {
        const double reward = update.mean_reward;
        const bool good = !average || reward > *average - margin;
        average = average ? *average + (reward - *average) / 20 : reward;
        return good && apply(update, weights);
    };
}

Rule gather_rule(double rate, std::uint32_t gather, Gathered waiting) {
    struct Segment {
        Eigen::VectorXf sum;
        std::uint32_t count = 0;
    };
    return [=, segments = std::map<std::uint16_t, Segment>()](const Contribution &update,
                                                              std::span<float> weights) mutable {
        Segment &segment = segments[update.segment];
        const Eigen::VectorXf sum = mean_of(update) * static_cast<float>(update.count);
        segment.sum = segment.count == 0 ? sum : Eigen::VectorXf(segment.sum + sum);
        segment.count += update.count;
        const std::uint32_t complete = segment.count / gather;
        if (complete > 0) {
            view(weights) += static_cast<float>(rate * complete / segment.count) * segment.sum;
            segment.count = 0;
        }
        *waiting = 0;
        for (const auto &[_, each] : segments)
            *waiting = std::max(*waiting, each.count);
        return complete > 0;
    };
}

} // namespace olaf::lunar_lander
