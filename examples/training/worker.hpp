// SPDX-License-Identifier: BSD-2-Clause
// One asynchronous worker: a learner at one end of a libolaf connection.
#pragma once

#include <olaf/worker.hpp>

#include <Eigen/Core>

#include <chrono>
#include <functional>
#include <optional>
#include <stop_token>

namespace olaf::training {

/// One update, ready to be pushed.
struct Experience {
    Eigen::VectorXf gradient;         ///< the direction in which the weights should move
    std::optional<float> mean_reward; ///< of finished episodes; none while none is: nothing is sent
    int steps = 0;                    ///< played for it
};

/// Plays with these weights and says how they should change. It may keep state; each worker has
/// one of its own, which is called from one thread.
using Learner = std::function<Experience(std::span<const float> weights)>;

struct WorkOptions {
    WorkerOptions connection;
    std::chrono::nanoseconds interval{};
    std::uint64_t seed = 1; ///< of the pauses
};

/// What a worker did, for its last line.
struct WorkReport {
    WorkerStats stats;
    std::uint64_t episode_steps = 0;
    std::uint32_t model_version = 0;
    bool had_weights = false;

    WorkReport &operator+=(const WorkReport &other);
};

/// Gets the weights, then plays, pushes and picks up newer weights once an interval
/// until asked to stop. Nothing is waited for longer than that: whatever is lost, it
/// goes on with the weights it has. Fails on a gradient that is no number: it would travel as 0.
Result<WorkReport> work(const WorkOptions &options, Learner learner, std::stop_token stop);

} // namespace olaf::training
