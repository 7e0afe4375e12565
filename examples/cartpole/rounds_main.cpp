// SPDX-License-Identifier: BSD-2-Clause
// olaf-cartpole-rounds: iSwitch's asynchronous training of one model, over rounds. `server` has the
// weights and is the root of a job; each `worker` computes its next gradient while its last one is
// summed, and no gradient counts that is more than S versions old.
#include "actor.hpp"
#include "learning_curve.hpp"
#include "rules.hpp"
#include "signals.hpp"
#include "wire.hpp"

#include <olaf/bounded_staleness.hpp>
#include <olaf/round_server.hpp>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include <future>

using namespace olaf;
using namespace olaf::cartpole;

namespace {

// The last element that is summed is the mean length of a worker's episodes, in units of their limit.
constexpr std::size_t kElements = kParameters + 1;
constexpr float kLongest = 500;
constexpr std::uint16_t kLanes = lanes_for(Format::i32x2, kElements) + 1;

struct Options {
    std::string bind = "0.0.0.0:7000", node = "127.0.0.1";
    std::uint32_t job = 7, rank = 0, workers = 3, staleness = 3;
    std::uint64_t seed = 1;
    double duration_s = 60;
    float target = 400;
};

std::vector<float> first_vector(const Options &options) {
    const Parameters weights = first_weights(options.seed, options.job);
    std::vector<float> vector(weights.begin(), weights.end());
    vector.push_back(0);
    return vector;
}

Result<void> serve(const Options &options, const StopSignals &signals) {
    const auto address = Address::parse(options.bind);
    if (!address)
        return std::unexpected(address.error());
    LearningCurve curve(options.target);
    const auto start = std::chrono::steady_clock::now();
    const auto elapsed = [&] {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    };
    std::uint64_t rounds = 0, gradients = 0;
    const Rule adam = make_rule(RuleName::adam);
    auto server = RoundServer::make(
        {.bind = *address, .job = options.job, .workers = options.workers, .lanes = kLanes},
        first_vector(options), [&](const RoundSum &sum, std::span<float> weights) {
            Parameters mean = Eigen::Map<const Parameters>(sum.sum.data());
            mean /= static_cast<float>(sum.count);
            adam({.mean_gradient = {mean.data(), kParameters},
                  .slice = {.begin = 0, .end = kParameters},
                  .count = sum.count},
                 weights.first(kParameters));
            rounds++;
            gradients += sum.count;
            curve.add(elapsed(), kLongest * sum.sum.back() / static_cast<float>(sum.count),
                      sum.count);
        });
    if (!server)
        return std::unexpected(server.error());
    while (!curve.reached() && elapsed() < options.duration_s &&
           !signals.wait(std::chrono::nanoseconds(0)))
        if (auto received = server->receive(std::chrono::milliseconds(50)); !received)
            return std::unexpected(received.error());
    fmt::print("{{\"rounds\": {}, \"gradients\": {}, \"mean_episode_length\": {:.1f}, "
               "\"time_to_target_s\": {}}}\n",
               rounds, gradients, curve.mean(),
               curve.reached() ? fmt::format("{:.3f}", *curve.reached()) : "null");
    return {};
}

// While one gradient is on its way the next is computed, on weights that don't have it yet.
Result<void> train(BoundedStaleness &training, const Options &options,
                   const std::function<bool()> &over) {
    Actor actor({}, Random{options.seed, options.rank, 2});
    std::vector<float> gradient; // of this version
    std::uint32_t of_version = 0;
    while (!over()) {
        const std::uint32_t version = training.version();
        const Parameters weights = Eigen::Map<const Parameters>(training.weights().data());
        auto computing = std::async(std::launch::async, [&] { return actor.experience(weights); });
        if (!gradient.empty())
            if (const auto committed = training.commit(gradient, of_version); !committed) {
                computing.wait();
                return over() ? Result<void>{} : std::unexpected(committed.error());
            }
        const Experience experience = computing.get();
        gradient.assign(experience.gradient.begin(), experience.gradient.end());
        gradient.push_back(experience.mean_reward / kLongest);
        of_version = version;
    }
    return {};
}

Result<void> work(const Options &options, const StopSignals &signals) {
    const auto node = Address::parse(options.node);
    if (!node)
        return std::unexpected(node.error());
    const auto end =
        std::chrono::steady_clock::now() + std::chrono::duration<double>(options.duration_s);
    bool stopped = false; // a signal is seen once
    const auto over = [&] {
        stopped = stopped || signals.wait(std::chrono::nanoseconds(0));
        return stopped || std::chrono::steady_clock::now() > end;
    };
    auto collective = Collective::make({.node = *node,
                                        .job = options.job,
                                        .rank = options.rank,
                                        .workers = options.workers,
                                        .lanes = kLanes,
                                        .interrupted = over});
    if (!collective)
        return std::unexpected(collective.error());
    if (auto joined = collective->join(); !joined)
        return joined;
    BoundedStaleness training(*collective, first_vector(options), options.staleness);
    const auto trained = train(training, options, over);
    const auto &stats = training.stats();
    fmt::print("{{\"rank\": {}, \"committed\": {}, \"too_stale\": {}, \"offered\": {}, "
               "\"stalest\": {}, \"version\": {}}}\n",
               options.rank, stats.committed, stats.too_stale, stats.offered, stats.stalest,
               training.version());
    return trained;
}

} // namespace

int main(int argc, char **argv) {
    Options options;
    CLI::App app{"Train CartPole as iSwitch does: asynchronously, with a staleness bound"};
    app.option_defaults()->always_capture_default();
    app.require_subcommand(1);
    auto *server = app.add_subcommand("server", "the weights: the parent of the job's node");
    auto *worker = app.add_subcommand("worker", "one worker of the job");
    for (auto *command : {server, worker}) {
        command->add_option("--job", options.job, "the job");
        command->add_option("--workers", options.workers, "workers of the job");
        command->add_option("--seed", options.seed, "of the first weights, and of play");
        command->add_option("--duration", options.duration_s, "seconds, at most");
    }
    server->add_option("--bind", options.bind, "ADDR[:PORT] to listen on");
    server->add_option("--target", options.target, "mean episode length to end at");
    worker->add_option("--node", options.node, "ADDR[:PORT] of the host that has the job");
    worker->add_option("--rank", options.rank, "0 to workers - 1");
    worker->add_option("--staleness", options.staleness,
                       "S: a gradient counts up to so many versions after the weights it is of");
    CLI11_PARSE(app, argc, argv);
    const StopSignals signals;
    if (const auto done = *server ? serve(options, signals) : work(options, signals); !done) {
        fmt::print(stderr, "{}\n", done.error().message());
        return 1;
    }
}
