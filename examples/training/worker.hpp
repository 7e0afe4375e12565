// SPDX-License-Identifier: BSD-2-Clause
// One asynchronous worker: a learner at one end of a libolaf connection.
#pragma once

#include "signals.hpp"

#include <olaf/worker.hpp>

#include <Eigen/Core>

#include <chrono>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

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
    /// Between two updates, what a learner needs for one included.
    std::chrono::nanoseconds interval{};
    /// In place of an interval: of each step that is played. An update is sent once its steps have
    /// taken so long.
    std::chrono::nanoseconds step_time{};
    std::uint64_t iterations = 0; ///< 0: until asked to stop
    std::uint64_t seed = 1;       ///< of the pauses
};

/// What an iteration came to, for a learning curve.
struct Played {
    double seconds; ///< since the worker began
    std::uint32_t worker;
    std::uint64_t iteration;
    float mean_reward;
    int steps;
};

/// What a worker did, for its last line.
struct WorkReport {
    WorkerStats stats;
    std::uint64_t iterations = 0;
    std::uint64_t episode_steps = 0;
    std::uint32_t model_version = 0;
    bool had_weights = false;
    /// Those with a reward.
    std::vector<Played> rewards = {};
    /// How many versions newer the weights were when an update was sent than those that it was
    /// computed on; of all updates. 0 of one whose server was restarted meanwhile.
    std::uint64_t version_lag = 0;
    std::chrono::nanoseconds late{}; ///< behind `step_time`, of all iterations

    WorkReport &operator+=(const WorkReport &other);
    /// An iteration is over.
    void add(const Experience &experience, std::uint32_t worker, double seconds);
};

/// Gets the weights, then plays, pushes and picks up newer weights, until asked to stop. Nothing
/// is waited for longer than its pace says: whatever is lost, it goes on with the weights it has.
/// Fails on a gradient that is no number, which would travel as 0, and on weights of another size.
Result<WorkReport> work(const WorkOptions &options, Learner learner, std::stop_token stop);

/// Fails, in the worker's name, if a gradient is no number.
Result<void> check(const Experience &experience, std::uint32_t cluster, std::uint32_t worker);

/// Workers that share a process, FIRST to LAST.
struct WorkerRange {
    std::uint32_t first, last;
};

/// ID or FIRST-LAST, of at most 256.
Result<WorkerRange> parse_workers(const std::string &text);

/// Runs one worker, in a thread of its own.
using RunWorker = std::function<Result<WorkReport>(std::uint32_t id, std::stop_token stop)>;

/// Runs them until all are through, one fails, a signal comes or so many seconds (0: any number)
/// are over. What all did, or the last failure.
Result<WorkReport> run_workers(WorkerRange workers, const RunWorker &run, double seconds,
                               const StopSignals &signals);

} // namespace olaf::training
