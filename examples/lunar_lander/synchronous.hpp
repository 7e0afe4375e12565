// SPDX-License-Identifier: BSD-2-Clause
// Training in step, as SwitchML's workers do: all changes of an iteration are averaged in a job of
// the kernel, and every worker takes the same step.
#pragma once

#include "examples/training/worker.hpp"

#include <olaf/collective.hpp>

namespace olaf::lunar_lander {

struct StepOptions {
    CollectiveOptions connection;
    std::chrono::nanoseconds step_time{}; ///< as WorkOptions has it
    std::uint64_t iterations = 0;         ///< the same at all workers; 0: until asked to stop
    std::uint64_t seed = 1;               ///< of the first weights, the same at all; and of pauses
    double rate = 0;                      ///< w ← w + rate · mean of all changes
};

/// Plays, and sums with all the others, until it has so many iterations. Fails as Collective does:
/// a worker that is gone ends the training of all, with its rank.
Result<training::WorkReport> work_in_step(const StepOptions &options, training::Learner learner,
                                          std::stop_token stop);

} // namespace olaf::lunar_lander
