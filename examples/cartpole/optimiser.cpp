// SPDX-License-Identifier: BSD-2-Clause
#include "optimiser.hpp"

#include <limits>

namespace olaf::cartpole {
namespace {

using Weights = Eigen::Map<Parameters>;
using Direction = Eigen::Map<const Parameters>;

/// The paper's section 2.1: w ← w + γ · avg gradient, only if the reward
/// exceeds the one remembered.
class Paper final : public Optimiser {
  public:
    explicit Paper(float rate) : rate_(rate) {}

    bool apply(std::span<float> weights, const Received &update) override {
        if (update.mean_reward <= best_)
            return false;
        best_ = update.mean_reward;
        average_ = started_ ? Parameters((average_ + Direction(update.gradient.data())) / 2)
                            : Parameters(Direction(update.gradient.data()));
        started_ = true;
        Weights(weights.data()) += rate_ * average_;
        return true;
    }

  private:
    float rate_;
    float best_ = -std::numeric_limits<float>::infinity();
    bool started_ = false;
    Parameters average_;
};

/// Plain asynchronous ascent. An aggregate moves as far as its updates would
/// have moved one by one.
class Sgd final : public Optimiser {
  public:
    explicit Sgd(float rate) : rate_(rate) {}

    bool apply(std::span<float> weights, const Received &update) override {
        Weights(weights.data()) +=
            rate_ * static_cast<float>(update.count) * Direction(update.gradient.data());
        return true;
    }

  private:
    float rate_;
};

/// Adam (Kingma and Ba, 2015). An aggregate of n updates counts as n steps with
/// their average: the moments forget n times and the step is n times as long.
class Adam final : public Optimiser {
  public:
    explicit Adam(float rate) : rate_(rate) {}

    bool apply(std::span<float> weights, const Received &update) override {
        const Direction direction(update.gradient.data());
        const auto count = static_cast<float>(update.count);
        const float keep_first = std::pow(kFirst, count);
        const float keep_second = std::pow(kSecond, count);
        first_ = keep_first * first_ + (1 - keep_first) * direction.array();
        second_ = keep_second * second_ + (1 - keep_second) * direction.array().square();
        unseen_first_ *= keep_first;
        unseen_second_ *= keep_second;
        Weights(weights.data()).array() += rate_ * count * (first_ / (1 - unseen_first_)) /
                                           ((second_ / (1 - unseen_second_)).sqrt() + kEpsilon);
        return true;
    }

  private:
    static constexpr float kFirst = 0.9F;
    static constexpr float kSecond = 0.99F;
    static constexpr float kEpsilon = 1e-5F;

    float rate_;
    Eigen::Array<float, kParameters, 1> first_ = decltype(first_)::Zero();
    Eigen::Array<float, kParameters, 1> second_ = decltype(second_)::Zero();
    float unseen_first_ = 1; // share of the moments that is still their zero start
    float unseen_second_ = 1;
};

} // namespace

std::unique_ptr<Optimiser> make_optimiser(Rule rule, float rate) {
    switch (rule) {
    case Rule::paper:
        return std::make_unique<Paper>(rate > 0 ? rate : 0.3F);
    case Rule::sgd:
        return std::make_unique<Sgd>(rate > 0 ? rate : 0.3F);
    case Rule::adam:
        break;
    }
    return std::make_unique<Adam>(rate > 0 ? rate : 0.005F);
}

} // namespace olaf::cartpole
