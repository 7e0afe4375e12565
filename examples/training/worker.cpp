// SPDX-License-Identifier: BSD-2-Clause
#include "worker.hpp"

#include "pace.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <future>
#include <utility>

namespace olaf::training {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::nanoseconds;

constexpr auto kJoinEvery = std::chrono::milliseconds(200);
constexpr int kTellAfter = 25;            // times that nobody answered
constexpr std::uint64_t kMisfitsMost = 3; // one may be a damaged or a stray answer

/// Asks for the first weights until they come. Fails if those that come have another size.
Result<void> join(Worker &worker, const WorkerOptions &connection, const std::stop_token &stop) {
    const std::string server = connection.server.text();
    for (int asked = 0; !worker.has_weights() && !stop.stop_requested(); ++asked) {
        if (asked == kTellAfter)
            fmt::print(stderr, "worker {} of cluster {} still waits for weights from {}\n",
                       connection.worker, connection.cluster, server);
        if (auto joined = worker.join(); !joined)
            return joined;
        if (auto waited = worker.wait(kJoinEvery); !waited)
            return std::unexpected(waited.error());
        if (!worker.has_weights() && worker.stats().rejected[Reject::wrong_lanes] >= kMisfitsMost)
            return fail("train", server, 0, "does the server there train another model?",
                        fmt::format("its weights aren't {} numbers", connection.elements));
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

/// Takes in what one worker did: all must have been well.
void add(Result<WorkReport> &total, Result<WorkReport> report) {
    if (!report)
        total = std::move(report);
    else if (total)
        *total += *report;
}

/// Sends what was learned, once an episode has been finished.
Result<void> push(Worker &worker, const Experience &experience, std::uint32_t version) {
    if (!experience.mean_reward)
        return {};
    const Eigen::VectorXf &gradient = experience.gradient;
    if (auto pushed = worker.push({gradient.data(), static_cast<std::size_t>(gradient.size())},
                                  *experience.mean_reward, version);
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
    iterations += other.iterations;
    episode_steps += other.episode_steps;
    model_version = std::max(model_version, other.model_version);
    had_weights |= other.had_weights;
    rewards.insert(rewards.end(), other.rewards.begin(), other.rewards.end());
    version_lag += other.version_lag;
    late += other.late;
    return *this;
}

void WorkReport::add(const Experience &experience, std::uint32_t worker, double seconds) {
    if (experience.mean_reward)
        rewards.push_back({.seconds = seconds,
                           .worker = worker,
                           .iteration = iterations,
                           .mean_reward = *experience.mean_reward,
                           .steps = experience.steps});
    episode_steps += static_cast<std::uint64_t>(experience.steps);
    ++iterations;
}

Result<void> check(const Experience &experience, std::uint32_t cluster, std::uint32_t worker) {
    if (!experience.gradient.allFinite())
        return fail("train", fmt::format("worker {} of cluster {}", worker, cluster), 0,
                    "a lower rate at the server may keep the weights finite",
                    "the gradient isn't a number");
    return {};
}

Result<WorkReport> work(const WorkOptions &options, Learner learner, std::stop_token stop) {
    auto worker = Worker::make(options.connection);
    if (!worker)
        return std::unexpected(worker.error());
    const auto [cluster, id] = std::pair(options.connection.cluster, options.connection.worker);
    WorkReport report;

    if (auto joined = join(*worker, options.connection, stop); !joined)
        return std::unexpected(joined.error());
    const auto begun = Clock::now();
    Pace pace(Random{options.seed, cluster, id, 1});
    while (!stop.stop_requested() &&
           (options.iterations == 0 || report.iterations < options.iterations)) {
        const std::uint32_t version = worker->model_version();
        const Experience experience = learner(worker->weights());
        if (auto checked = check(experience, cluster, id); !checked)
            return std::unexpected(checked.error());
        if (options.step_time.count() > 0)
            if (auto listened =
                    listen_until(*worker, pace.after(options.step_time * experience.steps), stop);
                !listened)
                return std::unexpected(listened.error());
        report.add(experience, id, std::chrono::duration<double>(Clock::now() - begun).count());
        const auto lag = static_cast<std::int32_t>(worker->model_version() - version);
        report.version_lag += static_cast<std::uint64_t>(std::max(lag, 0));
        if (auto pushed = push(*worker, experience, version); !pushed)
            return std::unexpected(pushed.error());
        if (options.interval.count() > 0)
            if (auto listened = listen_until(*worker, pace.after(options.interval), stop);
                !listened)
                return std::unexpected(listened.error());
        if (auto polled = worker->poll(); !polled)
            return std::unexpected(polled.error());
    }
    report.stats = worker->stats();
    report.model_version = worker->model_version();
    report.had_weights = worker->has_weights();
    report.late = pace.late();
    return report;
}

Result<WorkerRange> parse_workers(const std::string &text) {
    constexpr std::uint32_t most = 256; // threads in one process
    unsigned first = 0, last = 0;
    char rest = 0;
    const int fields = std::sscanf(text.c_str(), "%u-%u%c", &first, &last, &rest);
    if (fields == 1 && text.find('-') == std::string::npos)
        last = first;
    else if (fields != 2 || last < first || last - first >= most)
        return fail("parse workers", text, 0, "write ID or FIRST-LAST, at most 256 of them");
    return WorkerRange{first, last};
}

Result<WorkReport> run_workers(WorkerRange workers, const RunWorker &run, double seconds,
                               const StopSignals &signals) {
    std::stop_source stop;
    std::vector<std::future<Result<WorkReport>>> results;
    for (std::uint32_t id = workers.first; id <= workers.last; ++id)
        results.push_back(std::async(std::launch::async, run, id, stop.get_token()));

    // Waiting in slices notices a worker that fails, and all that are through.
    const auto end = Clock::now() + std::chrono::duration<double>(seconds);
    Result<WorkReport> total;
    while (!results.empty() && total) {
        if (signals.wait(std::chrono::milliseconds(100)) || (seconds > 0 && Clock::now() >= end))
            break;
        std::erase_if(results, [&](auto &result) {
            if (result.wait_for(std::chrono::seconds(0)) != std::future_status::ready)
                return false;
            add(total, result.get());
            return true;
        });
    }
    stop.request_stop();
    for (auto &result : results)
        add(total, result.get());
    return total;
}

} // namespace olaf::training
