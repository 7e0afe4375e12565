// SPDX-License-Identifier: BSD-2-Clause
// olaf-lunar-lander-worker: plays LunarLander and sends changes of weights to a server, or sums
// them with all the other workers (--sync). Several workers may share a process, a thread each.
#include "learner.hpp"
#include "rules.hpp"
#include "synchronous.hpp"
#include "wire.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

using namespace olaf;
using namespace olaf::lunar_lander;
using namespace olaf::training;

namespace {

struct Options {
    std::string server = "127.0.0.1", sync; // one of them
    std::uint32_t cluster = 0, job = 7;
    std::string workers = "0";
    std::uint32_t workers_in_all = 0;
    std::string training = "lunar-lander";
    std::uint64_t iterations = 200;
    LearnerOptions learner;
    double step_us = 200, spread = 2;
    double rate = kRate;
    double timeout_s = 30;
    std::uint64_t seed = 1;
    std::size_t mtu = kMtu;
};

void define(CLI::App &app, Options &options) {
    app.option_defaults()->always_capture_default();
    auto *server = app.add_option("--server", options.server, "ADDR[:PORT] of the server");
    auto *cluster = app.add_option("--cluster", options.cluster, "to train in");
    auto *sync = app.add_option("--sync", options.sync, "ADDR of the node: sum with all workers")
                     ->excludes(server)
                     ->excludes(cluster);
    app.add_option("--job", options.job, "that sums")->needs(sync);
    app.add_option("--training", options.training, "the training's name, another one for each")
        ->needs(sync);
    app.add_option("--rate", options.rate, "of the mean change, how much is taken")->needs(sync);
    app.add_option("--timeout", options.timeout_s, "seconds that a sum may take")
        ->check(CLI::PositiveNumber)
        ->needs(sync);
    app.add_option("--worker,--workers", options.workers, "ID, or FIRST-LAST: a thread each");
    app.add_option("--workers-in-all", options.workers_in_all,
                   "of which these are some, numbered from 0; 0: these are all");
    app.add_option("--iterations", options.iterations, "0: until SIGINT or SIGTERM");
    app.add_option("--steps", options.learner.steps, "of an iteration")
        ->check(CLI::Range(64, 1 << 20));
    app.add_option("--step-us", options.step_us, "what a step takes the fastest worker")
        ->check(CLI::NonNegativeNumber);
    app.add_option("--spread", options.spread, "how much longer the slowest worker takes")
        ->check(CLI::Range(1.0, 1000.0));
    app.add_flag("--whole-episodes", options.learner.whole_episodes,
                 "an iteration plays on to the end of an episode");
    app.add_option("--seed", options.seed, "of everything random; the same at all workers");
    app.add_option("--mtu", options.mtu, "IP MTU on the way");
}

/// Workers are from 1 to `spread` times as slow, evenly.
std::chrono::nanoseconds step_time(const Options &options, std::uint32_t id) {
    const double place = options.workers_in_all < 2 ? 0 : id / (options.workers_in_all - 1.0);
    return std::chrono::nanoseconds(static_cast<std::int64_t>(
        1e3 * options.step_us * (1 + (options.spread - 1) * std::min(place, 1.0))));
}

RunWorker asynchronous(const Options &options, const Address &server) {
    return [&options, server](std::uint32_t id, std::stop_token stop) {
        return work({.connection = {.server = server,
                                    .cluster = options.cluster,
                                    .worker = id,
                                    .elements = kParameters,
                                    .packing = kPacking,
                                    .mtu = options.mtu},
                     .step_time = step_time(options, id),
                     .iterations = options.iterations,
                     .seed = options.seed},
                    learner(options.learner, {options.seed, options.cluster, id, 2}),
                    std::move(stop));
    };
}

RunWorker synchronous(const Options &options, const Address &node) {
    return [&options, node](std::uint32_t id, std::stop_token stop) {
        return work_in_step(
            {.connection = {.node = node,
                            .job = options.job,
                            .rank = id,
                            .workers = options.workers_in_all,
                            .run = options.training,
                            .timeout = std::chrono::nanoseconds(
                                static_cast<std::int64_t>(1e9 * options.timeout_s))},
             .step_time = step_time(options, id),
             .iterations = options.iterations,
             .seed = options.seed,
             .rate = options.rate},
            learner(options.learner, {options.seed, 0, id, 2}), std::move(stop));
    };
}

Result<WorkReport> run(const Options &options, WorkerRange workers, const StopSignals &signals) {
    const bool in_step = !options.sync.empty();
    const auto address = in_step ? Address::resolve(options.sync) : Address::parse(options.server);
    if (!address)
        return std::unexpected(address.error());
    // One frame carries an update where the MTU has room for it.
    if (!in_step && options.mtu < kMtu)
        fmt::print(stderr,
                   "an update takes several frames with an MTU of {}, and they fold apart; with "
                   "--mtu {}, where the way has it, it is one\n",
                   options.mtu, kMtu);
    auto total = run_workers(
        workers, in_step ? synchronous(options, *address) : asynchronous(options, *address), 0,
        signals);
    if (total && !total->had_weights)
        return fail("train", options.server, 0, "is olaf-lunar-lander-server running there?",
                    "no weights ever came");
    return total;
}

std::string rewards_json(const WorkReport &report) {
    std::string text;
    for (const Played &played : report.rewards)
        text +=
            fmt::format("{}[{:.3f}, {}, {}, {:.2f}, {}]", text.empty() ? "" : ", ", played.seconds,
                        played.worker, played.iteration, played.mean_reward, played.steps);
    return text;
}

} // namespace

int main(int argc, char **argv) {
    Options options;
    CLI::App app{"Train LunarLander, asynchronously or in step"};
    define(app, options);
    CLI11_PARSE(app, argc, argv);
    const StopSignals signals;

    const auto workers = parse_workers(options.workers);
    if (workers && options.workers_in_all == 0)
        options.workers_in_all = workers->last + 1;
    const auto report = workers ? run(options, *workers, signals)
                                : Result<WorkReport>(std::unexpected(workers.error()));
    if (!report) {
        fmt::print(stderr, "{}\n", report.error().message());
        return workers ? 1 : 2;
    }
    const auto iterations = static_cast<double>(std::max<std::uint64_t>(report->iterations, 1));
    fmt::print("{{\"iterations\": {}, \"steps\": {}, \"sent\": {}, \"unsent\": {}, \"acks\": {}, "
               "\"clipped\": {}, \"largest_element\": {}, \"late_mean_ms\": {:.3f}, "
               "\"version_lag_mean\": {:.3f}, \"model_version\": {}, \"rewards\": [{}]}}\n",
               report->iterations, report->episode_steps, report->stats.updates,
               report->stats.unsent, report->stats.acks, report->stats.clipped,
               report->stats.largest, static_cast<double>(report->late.count()) / 1e6 / iterations,
               static_cast<double>(report->version_lag) / iterations, report->model_version,
               rewards_json(*report));
}
