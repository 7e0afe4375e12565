// SPDX-License-Identifier: BSD-2-Clause
#include "policy.hpp"

namespace olaf::cartpole {
namespace {

using Hidden = Eigen::Matrix<float, kHidden, kObservations>;
using HiddenBias = Eigen::Matrix<float, kHidden, 1>;
using Head = Eigen::Matrix<float, kOutputs, kHidden>;
using HeadBias = Eigen::Matrix<float, kOutputs, 1>;
using Columns = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic>;

constexpr int kHiddenBiasAt = kHidden * kObservations;
constexpr int kHeadAt = kHiddenBiasAt + kHidden;
constexpr int kHeadBiasAt = kHeadAt + kOutputs * kHidden;

/// The layers as views into a flat vector, constant or not.
template <class Vector> struct Layers {
    template <class Matrix>
    using View = Eigen::Map<std::conditional_t<std::is_const_v<Vector>, const Matrix, Matrix>>;

    explicit Layers(Vector &flat)
        : hidden(flat.data()), hidden_bias(flat.data() + kHiddenBiasAt),
          head(flat.data() + kHeadAt), head_bias(flat.data() + kHeadBiasAt) {}

    View<Hidden> hidden;
    View<HiddenBias> hidden_bias;
    View<Head> head;
    View<HeadBias> head_bias;
};

/// Bring the four observations, whose units differ, to about ±1.
State normalised(const State &state) {
    static const State scale(1.0F / Environment::kTrackLimit, 0.5F, 1.0F / Environment::kAngleLimit,
                             0.5F);
    return state.cwiseProduct(scale);
}

/// Everything the forward pass knows of a batch, one column a step.
struct Forward {
    Columns inputs, hidden, outputs;
    Eigen::RowVectorXf push_right;

    Forward(const Layers<const Parameters> &layers, const Batch &batch)
        : inputs(kObservations, batch.size()) {
        for (std::size_t step = 0; step < batch.size(); ++step)
            inputs.col(static_cast<Eigen::Index>(step)) = normalised(batch.states[step]);
        hidden = ((layers.hidden * inputs).colwise() + layers.hidden_bias).array().tanh();
        outputs = (layers.head * hidden).colwise() + layers.head_bias;
        push_right = (1.0F + (outputs.row(0) - outputs.row(1)).array().exp()).inverse();
    }
};

/// Keeps log() finite when the policy is certain.
float safe_log(float probability) {
    return std::log(std::max(probability, 1e-7F));
}

} // namespace

void Batch::clear() {
    states.clear();
    actions.clear();
    advantages.clear();
    returns.clear();
}

Parameters initial_parameters(Random &random) {
    Parameters parameters = Parameters::Zero();
    Layers layers(parameters);
    for (float &weight : layers.hidden.reshaped())
        weight = random.normal() / std::sqrt(static_cast<float>(kObservations));
    for (float &weight : layers.head.reshaped())
        weight = 0.01F * random.normal();
    return parameters;
}

Decision decide(const Parameters &parameters, const State &state) {
    const Layers layers(parameters);
    const HiddenBias hidden =
        (layers.hidden * normalised(state) + layers.hidden_bias).array().tanh();
    const HeadBias output = layers.head * hidden + layers.head_bias;
    return {.push_right = 1.0F / (1.0F + std::exp(output[0] - output[1])), .value = output[2]};
}

double objective(const Parameters &parameters, const Batch &batch, const Objective &weights) {
    const Forward forward(Layers<const Parameters>{parameters}, batch);
    double sum = 0;
    for (std::size_t step = 0; step < batch.size(); ++step) {
        const auto column = static_cast<Eigen::Index>(step);
        const float right = forward.push_right[column];
        const float log_right = safe_log(right);
        const float log_left = safe_log(1.0F - right);
        const float entropy = -right * log_right - (1.0F - right) * log_left;
        const float error = forward.outputs(2, column) - batch.returns[step];
        sum += batch.advantages[step] * (batch.actions[step] == 1 ? log_right : log_left) +
               weights.entropy * entropy - weights.value * error * error / 2;
    }
    return sum / static_cast<double>(batch.size());
}

Parameters gradient(const Parameters &parameters, const Batch &batch, const Objective &weights) {
    const Layers layers(parameters);
    const Forward forward(layers, batch);

    // With two actions the logits only matter by their difference, so their
    // derivatives are each other's negation.
    Columns outputs(kOutputs, batch.size());
    for (std::size_t step = 0; step < batch.size(); ++step) {
        const auto column = static_cast<Eigen::Index>(step);
        const float right = forward.push_right[column];
        const float taken = static_cast<float>(batch.actions[step]);
        const float log_odds = safe_log(right) - safe_log(1.0F - right);
        const float push = batch.advantages[step] * (taken - right) -
                           weights.entropy * right * (1.0F - right) * log_odds;
        const float error = forward.outputs(2, column) - batch.returns[step];
        outputs.col(column) << -push, push, -weights.value * error;
    }
    outputs /= static_cast<float>(std::max<std::size_t>(batch.size(), 1));

    const Columns hidden =
        (layers.head.transpose() * outputs).array() * (1.0F - forward.hidden.array().square());
    Parameters result;
    Layers into(result);
    into.hidden = hidden * forward.inputs.transpose();
    into.hidden_bias = hidden.rowwise().sum();
    into.head = outputs * forward.hidden.transpose();
    into.head_bias = outputs.rowwise().sum();
    return result;
}

float clip_norm(Parameters &gradient, float limit) {
    const float norm = gradient.norm();
    if (norm > limit)
        gradient *= limit / norm;
    return norm;
}

} // namespace olaf::cartpole
