// SPDX-License-Identifier: BSD-2-Clause
// One asynchronous worker: an actor at one end of a libolaf connection.
#pragma once

#include "actor.hpp"

#include <olaf/worker.hpp>

#include <chrono>
#include <stop_token>

namespace olaf::cartpole {

struct TrainingOptions {
    WorkerOptions connection;
    std::chrono::nanoseconds interval{};
    std::uint64_t seed = 1;
    ActorOptions actor;
};

/// What a worker did, for its last line.
struct TrainingReport {
    WorkerStats stats;
    std::uint64_t episode_steps = 0;
    std::uint32_t model_version = 0;
    bool had_weights = false;

    TrainingReport &operator+=(const TrainingReport &other);
};

/// Gets the weights, then plays, pushes and picks up newer weights once an interval
/// until asked to stop. Nothing is waited for longer than that: whatever is lost, it
/// goes on with the weights it has.
Result<TrainingReport> train(const TrainingOptions &options, std::stop_token stop);

} // namespace olaf::cartpole
