// SPDX-License-Identifier: BSD-2-Clause
// olaf-cartpole-worker: plays CartPole and sends policy gradients. Several workers of
// a cluster may share a process: each has a thread and a socket of its own.
#include "actor.hpp"
#include "wire.hpp"

#include "examples/training/rounding_options.hpp"
#include "examples/training/worker.hpp"

#include <CLI/CLI.hpp>
#include <fmt/core.h>

using namespace olaf;
using namespace olaf::cartpole;
using namespace olaf::training;

namespace {

struct Options {
    std::string server = "127.0.0.1";
    std::uint32_t cluster = 0;
    std::string workers = "0";
    std::uint64_t seed = 1;
    double interval_ms = 30;
    double duration_s = 0;
    Format format = Format::i32x2;
    double scale = 0;
    Rounding rounding;
    std::size_t mtu = 1500;
};

void define(CLI::App &app, Options &options) {
    app.option_defaults()->always_capture_default();
    app.add_option("--server", options.server, "ADDR[:PORT] of the parameter server");
    app.add_option("--cluster", options.cluster, "cluster to train in");
    app.add_option("--worker,--workers", options.workers, "ID, or FIRST-LAST: a thread each");
    app.add_option("--seed", options.seed, "of everything random");
    app.add_option("--interval-ms", options.interval_ms, "time between a worker's updates")
        ->check(CLI::Range(0.1, 60e3));
    app.add_option("--duration", options.duration_s, "seconds, 0: until SIGINT or SIGTERM")
        ->check(CLI::NonNegativeNumber);
    app.add_option("--format", options.format, "how lanes pack the gradient")
        ->transform(CLI::CheckedTransformer(kFormatNames));
    app.add_option("--scale", options.scale,
                   "fixed-point steps per unit of gradient, 0: the format's; as at the server")
        ->check(CLI::NonNegativeNumber);
    define_rounding(app, options.rounding);
    app.add_option("--mtu", options.mtu, "IP MTU on the way to the server");
}

Result<WorkReport> run(const Options &options, WorkerRange workers, const StopSignals &signals) {
    const auto server = Address::parse(options.server);
    if (!server)
        return std::unexpected(server.error());
    const auto run_one = [&](std::uint32_t id, std::stop_token stop) {
        return work({.connection = {.server = *server,
                                    .cluster = options.cluster,
                                    .worker = id,
                                    .elements = kParameters,
                                    .packing = packing_for(options.format, options.scale),
                                    .rounding = options.rounding,
                                    .mtu = options.mtu},
                     .interval = std::chrono::nanoseconds(
                         static_cast<std::int64_t>(options.interval_ms * 1e6)),
                     .seed = options.seed},
                    learner({}, {options.seed, options.cluster, id, 2}), std::move(stop));
    };
    auto total = run_workers(workers, run_one, options.duration_s, signals);
    if (total && !total->had_weights)
        return fail("train", options.server, 0, "is olaf-cartpole-server running there?",
                    "no weights ever came");
    return total;
}

} // namespace

int main(int argc, char **argv) {
    Options options;
    CLI::App app{"Train CartPole as a worker of an asynchronous cluster"};
    define(app, options);
    CLI11_PARSE(app, argc, argv);
    const StopSignals signals;

    const auto workers = parse_workers(options.workers);
    const auto report = workers ? run(options, *workers, signals)
                                : Result<WorkReport>(std::unexpected(workers.error()));
    if (!report) {
        fmt::print(stderr, "{}\n", report.error().message());
        return workers ? 1 : 2;
    }
    fmt::print("{{\"cluster\": {}, \"first_worker\": {}, \"last_worker\": {}, "
               "\"updates_sent\": {}, \"updates_unsent\": {}, \"acks_received\": {}, "
               "\"acks_stale\": {}, \"elements_clipped\": {}, "
               "\"largest_element\": {}, \"steps\": {}, "
               "\"model_version\": {}}}\n",
               options.cluster, workers->first, workers->last, report->stats.updates,
               report->stats.unsent, report->stats.acks, report->stats.stale, report->stats.clipped,
               report->stats.largest, report->episode_steps, report->model_version);
}
