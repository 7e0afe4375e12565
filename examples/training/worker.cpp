// SPDX-License-Identifier: BSD-2-Clause
#include "worker.hpp"

#include "random.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace olaf::training {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::nanoseconds;

constexpr auto kJoinEvery = std::chrono::milliseconds(200);

/// Asks for the first weights until they come.
Result<void> join(Worker &worker, const std::stop_token &stop) {
    while (!worker.has_weights() && !stop.stop_requested()) {
        if (auto joined = worker.join(); !joined)
            return joined;
        if (auto waited = worker.wait(kJoinEvery); !waited)
            return std::unexpected(waited.error());
    }
    return {};
}

/// Takes in weights until a point in time.
Result<void> listen_until(Worker &worker, Clock::time_point end, const std::stop_token &stop) {
    while (Clock::now() < end && !stop.stop_requested())
        if (auto waited = worker.wait(std::min<nanoseconds>(end - Clock::now(), kJoinEvery));
            !waited)
            return std::unexpected(waited.error());
    return {};
}

/// Sends what was learned, once an episode has been finished.
Result<void> push(Worker &worker, const WorkerOptions &connection, const Experience &experience) {
    if (!experience.gradient.allFinite())
        return fail(
            "train", fmt::format("worker {} of cluster {}", connection.worker, connection.cluster),
            0, "a lower learning rate may keep the weights finite", "the gradient isn't a number");
    if (!experience.mean_reward)
        return {};
    const Eigen::VectorXf &gradient = experience.gradient;
    if (auto pushed = worker.push({gradient.data(), static_cast<std::size_t>(gradient.size())},
                                  *experience.mean_reward, worker.model_version());
        !pushed)
        return std::unexpected(pushed.error());
    return {};
}

} // namespace

WorkReport &WorkReport::operator+=(const WorkReport &other) {
    stats.updates += other.stats.updates;
    stats.messages += other.stats.messages;
    stats.unsent += other.stats.unsent;
    stats.clipped += other.stats.clipped;
    stats.largest = std::max(stats.largest, other.stats.largest);
    stats.acks += other.stats.acks;
    stats.stale += other.stats.stale;
    episode_steps += other.episode_steps;
    model_version = std::max(model_version, other.model_version);
    had_weights |= other.had_weights;
    return *this;
}

Result<WorkReport> work(const WorkOptions &options, Learner learner, std::stop_token stop) {
    auto worker = Worker::make(options.connection);
    if (!worker)
        return std::unexpected(worker.error());
    const auto [cluster, id] = std::pair(options.connection.cluster, options.connection.worker);
    Random pacing{options.seed, cluster, id, 1};
    WorkReport report;

    if (auto joined = join(*worker, stop); !joined)
        return std::unexpected(joined.error());
    auto due = Clock::now();
    while (!stop.stop_requested()) {
        const Experience experience = learner(worker->weights());
        report.episode_steps += static_cast<std::uint64_t>(experience.steps);
        if (auto pushed = push(*worker, options.connection, experience); !pushed)
            return std::unexpected(pushed.error());
        // ±10 %, so that workers started together don't stay in step. A worker that
        // was held up doesn't catch up with a burst.
        const nanoseconds pause(static_cast<std::int64_t>(
            static_cast<float>(options.interval.count()) * pacing.uniform(0.9F, 1.1F)));
        due = std::max(due + pause, Clock::now());
        if (auto listened = listen_until(*worker, due, stop); !listened)
            return std::unexpected(listened.error());
        if (auto polled = worker->poll(); !polled)
            return std::unexpected(polled.error());
    }
    report.stats = worker->stats();
    report.model_version = worker->model_version();
    report.had_weights = worker->has_weights();
    return report;
}

} // namespace olaf::training
