// SPDX-License-Identifier: BSD-2-Clause
#include "network.hpp"

#include <Eigen/QR>

#include <utility>

namespace olaf::lunar_lander {
namespace {

/// The layers as views into a flat vector, constant or not: weights row by row, then biases, as
/// PyTorch's parameters are.
template <class Vector> class Layers {
    template <int rows, int columns>
    using Matrix =
        Eigen::Matrix<float, rows, columns, columns == 1 ? Eigen::ColMajor : Eigen::RowMajor>;
    template <int rows, int columns>
    using View = Eigen::Map<std::conditional_t<std::is_const_v<Vector>, const Matrix<rows, columns>,
                                               Matrix<rows, columns>>>;
    using Pointer = decltype(std::declval<Vector &>().data());
    Pointer at_;

    /// The next so many parameters, as a matrix.
    template <int rows, int columns> View<rows, columns> next() {
        return View<rows, columns>(std::exchange(at_, at_ + rows * columns));
    }

  public:
    explicit Layers(Vector &flat) : at_(flat.data()) {}

    View<kHidden, kObservations> first = next<kHidden, kObservations>();
    View<kHidden, 1> first_bias = next<kHidden, 1>();
    View<kHidden, kHidden> second = next<kHidden, kHidden>();
    View<kHidden, 1> second_bias = next<kHidden, 1>();
    View<kOutputs, kHidden> head = next<kOutputs, kHidden>();
    View<kOutputs, 1> head_bias = next<kOutputs, 1>();
};

/// Columns or rows of length `gain` at right angles to each other, whichever are fewer.
Eigen::MatrixXf orthogonal(Eigen::Index rows, Eigen::Index columns, float gain, Random &random) {
    const bool wide = rows < columns;
    Eigen::MatrixXf normal(std::max(rows, columns), std::min(rows, columns));
    for (float &value : normal.reshaped())
        value = random.normal();
    const Eigen::MatrixXf square = normal.householderQr().householderQ();
    const Eigen::MatrixXf tall = gain * square.leftCols(normal.cols());
    return wide ? Eigen::MatrixXf(tall.transpose()) : tall;
}

} // namespace

Parameters initial_parameters(Random &random) {
    Parameters parameters = Parameters::Zero();
    Layers layers(parameters);
    layers.first = orthogonal(kHidden, kObservations, std::numbers::sqrt2_v<float>, random);
    layers.second = orthogonal(kHidden, kHidden, std::numbers::sqrt2_v<float>, random);
    layers.head = orthogonal(kOutputs, kHidden, 1, random);
    layers.head.topRows<kActions>() *= 0.01F;
    return parameters;
}

Parameters first_weights(std::uint64_t seed, std::uint32_t cluster) {
    Random random{seed, cluster};
    return initial_parameters(random);
}

Outputs evaluate(const Parameters &parameters, const State &state) {
    using Hidden = Eigen::Matrix<float, kHidden, 1>;
    const Layers layers(parameters);
    const Hidden first = (layers.first * state + layers.first_bias).array().tanh();
    const Hidden second = (layers.second * first + layers.second_bias).array().tanh();
    return layers.head * second + layers.head_bias;
}

Forward::Forward(const Parameters &parameters, States states)
    : parameters_(parameters), states_(std::move(states)) {
    const Layers layers(parameters);
    first_ = ((layers.first * states_).colwise() + layers.first_bias).array().tanh();
    second_ = ((layers.second * first_).colwise() + layers.second_bias).array().tanh();
    outputs_ = (layers.head * second_).colwise() + layers.head_bias;
}

Parameters Forward::backward(const OutputColumns &by_outputs) const {
    const Layers layers(parameters_);
    Parameters result;
    Layers into(result);
    into.head.noalias() = by_outputs * second_.transpose();
    into.head_bias = by_outputs.rowwise().sum();
    const HiddenColumns by_second =
        (layers.head.transpose() * by_outputs).array() * (1 - second_.array().square());
    into.second.noalias() = by_second * first_.transpose();
    into.second_bias = by_second.rowwise().sum();
    const HiddenColumns by_first =
        (layers.second.transpose() * by_second).array() * (1 - first_.array().square());
    into.first.noalias() = by_first * states_.transpose();
    into.first_bias = by_first.rowwise().sum();
    return result;
}

Decision decide(const Parameters &parameters, const State &state, Random &random) {
    const Outputs outputs = evaluate(parameters, state);
    const auto logits = outputs.head<kActions>().array();
    const Eigen::Array<float, kActions, 1> shares = (logits - logits.maxCoeff()).exp();
    float left = random.uniform() * shares.sum();
    int action = 0;
    while (action + 1 < kActions && left >= shares[action])
        left -= shares[action++];
    return {.action = action,
            .log_probability = logits[action] - logits.maxCoeff() - std::log(shares.sum()),
            .value = outputs[kActions]};
}

} // namespace olaf::lunar_lander
