// SPDX-License-Identifier: BSD-2-Clause
#include "synchronous.hpp"

#include "network.hpp"

#include "examples/training/pace.hpp"

#include <condition_variable>
#include <mutex>

namespace olaf::lunar_lander {

using training::Experience;
using training::WorkReport;
using Clock = training::Pace::Clock;

namespace {

/// Until then, or until asked to stop.
void sleep_until(Clock::time_point then, const std::stop_token &stop) {
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable_any().wait_until(lock, stop, then, [] { return false; });
}

} // namespace

Result<WorkReport> work_in_step(const StepOptions &options, training::Learner learner,
                                std::stop_token stop) {
    CollectiveOptions connection = options.connection;
    connection.interrupted = [&stop] { return stop.stop_requested(); };
    auto collective = Collective::make(connection);
    if (!collective)
        return std::unexpected(collective.error());
    if (auto started = collective->start(); !started)
        return std::unexpected(started.error());

    Parameters weights = first_weights(options.seed, 0);
    const std::uint32_t rank = connection.rank;
    WorkReport report;
    report.had_weights = true;
    const auto begun = Clock::now();
    training::Pace pace(Random{options.seed, 0, rank, 1});
    while (options.iterations == 0 || report.iterations < options.iterations) {
        Experience experience = learner({weights.data(), kParameters});
        if (auto checked = training::check(experience, 0, rank); !checked)
            return std::unexpected(checked.error());
        sleep_until(pace.after(options.step_time * experience.steps), stop);
        report.add(experience, rank, std::chrono::duration<double>(Clock::now() - begun).count());
        Eigen::VectorXf &change = experience.gradient;
        if (auto summed = collective->allreduce({change.data(), kParameters}, Combine::mean);
            !summed) {
            if (stop.stop_requested())
                break;
            return std::unexpected(summed.error());
        }
        weights += static_cast<float>(options.rate) * change;
        pace.from_now();
    }
    report.late = pace.late();
    report.model_version = static_cast<std::uint32_t>(report.iterations);
    report.stats.updates = collective->stats().sent;
    if (!stop.stop_requested())
        if (auto finished = collective->finish(); !finished)
            return std::unexpected(finished.error());
    return report;
}

} // namespace olaf::lunar_lander
