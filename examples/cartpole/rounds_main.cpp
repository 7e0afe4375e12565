// SPDX-License-Identifier: BSD-2-Clause
// olaf-cartpole-rounds: iSwitch's asynchronous training of one model, over rounds. `server` has the
// weights and is the parent of a job's node; each `worker` is one of that job's.
#include "round_training.hpp"

#include "examples/training/signals.hpp"

#include <CLI/CLI.hpp>
#include <fmt/core.h>

using namespace olaf;
using namespace olaf::cartpole;
using olaf::training::StopSignals;

namespace {

struct Options {
    RoundJob job;
    std::string bind = "0.0.0.0:7000", node = "127.0.0.1";
    std::uint32_t rank = 0, staleness = 3;
    double duration_s = 0;
    float target = 400;
};

void define(CLI::App &app, Options &options) {
    app.option_defaults()->always_capture_default();
    app.require_subcommand(1);
    auto *server = app.add_subcommand("server", "The weights: the parent of the job's node");
    auto *worker = app.add_subcommand("worker", "One worker of the job");
    for (auto *command : {server, worker}) {
        command->add_option("--job", options.job.job, "the job's id");
        command->add_option("--workers", options.job.workers, "workers of the job")
            ->check(CLI::Range(1U, 256U));
        command->add_option("--run", options.job.run,
                            "the training's name; the same everywhere, and another one for each");
        command->add_option("--seed", options.job.seed,
                            "of the first weights and of play; the same everywhere");
        command->add_option("--duration", options.duration_s,
                            "seconds, 0: until the target, SIGINT or SIGTERM")
            ->check(CLI::NonNegativeNumber);
    }
    server->add_option("--bind", options.bind, "ADDR[:PORT] to listen on");
    server->add_option("--target", options.target, "mean episode length to end at");
    worker->add_option("--node", options.node, "ADDR[:PORT] of the host that has the job");
    worker->add_option("--rank", options.rank, "0 to workers - 1");
    worker->add_option("--staleness", options.staleness,
                       "S: a gradient counts up to so many versions after its weights");
}

/// Whether it is time to end. A signal is seen once, but remembered.
class Over {
  public:
    Over(const StopSignals &signals, double seconds)
        : signals_(&signals), end_(std::chrono::steady_clock::now() +
                                   std::chrono::duration<double>(seconds)),
          endless_(seconds == 0) {}

    bool operator()() {
        stopped_ = stopped_ || signals_->wait(std::chrono::nanoseconds(0));
        return stopped_ || (!endless_ && std::chrono::steady_clock::now() > end_);
    }

  private:
    const StopSignals *signals_;
    std::chrono::time_point<std::chrono::steady_clock, std::chrono::duration<double>> end_;
    bool endless_;
    bool stopped_ = false;
};

Result<void> serve(const Options &options, Over &over) {
    const auto address = Address::parse(options.bind);
    if (!address)
        return std::unexpected(address.error());
    const auto served = serve_rounds({.job = options.job,
                                      .bind = *address,
                                      .target = options.target,
                                      .over = std::ref(over)});
    if (!served)
        return std::unexpected(served.error());
    fmt::print("{{\"rounds\": {}, \"gradients\": {}, \"mean_episode_length\": {:.1f}, "
               "\"time_to_target_s\": {}}}\n",
               served->rounds, served->gradients, served->mean_length,
               served->reached_s ? fmt::format("{:.3f}", *served->reached_s) : "null");
    return {};
}

Result<void> work(const Options &options, Over &over) {
    const auto node = Address::parse(options.node);
    if (!node)
        return std::unexpected(node.error());
    const auto worked = work_in_rounds({.job = options.job,
                                        .node = *node,
                                        .rank = options.rank,
                                        .staleness = options.staleness,
                                        .over = std::ref(over)});
    if (!worked)
        return std::unexpected(worked.error());
    const auto &stats = worked->stats;
    fmt::print("{{\"rank\": {}, \"committed\": {}, \"too_stale\": {}, \"unknown\": {}, \"offered\": {}, "
               "\"followed\": {}, \"skipped\": {}, \"stalest\": {}, \"version\": {}, "
               "\"trained\": {}}}\n",
               options.rank, stats.committed, stats.too_stale, stats.unknown, stats.offered, stats.followed,
               stats.skipped, stats.stalest, worked->version, worked->trained);
    return {};
}

} // namespace

int main(int argc, char **argv) {
    Options options;
    CLI::App app{"Train CartPole as iSwitch does: asynchronously, with a staleness bound"};
    define(app, options);
    CLI11_PARSE(app, argc, argv);
    const StopSignals signals;
    Over over(signals, options.duration_s);
    const bool serves = app.got_subcommand("server");
    if (const auto done = serves ? serve(options, over) : work(options, over); !done) {
        fmt::print(stderr, "{}\n", done.error().message());
        return 1;
    }
}
