// SPDX-License-Identifier: BSD-2-Clause
// olaf-cartpole-server: one CartPole model a cluster, moved by whatever updates
// arrive, and a record of how that went.
#include "rules.hpp"
#include "wire.hpp"

#include "examples/training/results.hpp"
#include "examples/training/serving.hpp"

#include <CLI/CLI.hpp>
#include <fmt/core.h>

using namespace olaf;
using namespace olaf::cartpole;
using namespace olaf::training;

namespace {

struct Options {
    std::string bind = "0.0.0.0";
    std::uint32_t clusters = 9;
    ServingOptions serving = {.measure = "episode"};
    std::uint64_t seed = 1;
    float target = 400;
    std::string rule = "adam";
    double rate = 0;
    Format format = Format::i32x2;
    double scale = 0;
    bool ack_all = true;
    std::size_t mtu = 1500;
    std::string csv;
};

void define(CLI::App &app, Options &options) {
    app.option_defaults()->always_capture_default();
    app.add_option("--bind", options.bind, "ADDR[:PORT] to listen on");
    app.add_option("--clusters", options.clusters, "clusters to serve: 0 … N−1")
        ->check(CLI::Range(1U, 65536U));
    app.add_option("--duration", options.serving.duration_s, "seconds, 0: until SIGINT or SIGTERM")
        ->check(CLI::NonNegativeNumber);
    app.add_option("--seed", options.seed, "of the first weights");
    app.add_option("--target", options.target, "mean episode length to reach");
    app.add_option("--rule", options.rule, "how an update moves the weights")
        ->check(CLI::IsMember(kRuleNames));
    app.add_option("--rate", options.rate, "learning rate, 0: the rule's own")
        ->check(CLI::NonNegativeNumber);
    app.add_option("--format", options.format, "the workers' format: sets scale and max_count")
        ->transform(CLI::CheckedTransformer(kFormatNames));
    app.add_option("--scale", options.scale,
                   "fixed-point steps per unit of gradient, 0: the format's; as at the workers")
        ->check(CLI::NonNegativeNumber);
    app.add_flag("--ack-all,!--ack-sender", options.ack_all,
                 "answer every worker of the cluster, or only the sender: the network copies it");
    app.add_option("--mtu", options.mtu, "IP MTU on the way to the workers");
    app.add_option("--csv", options.csv, "write PREFIX.json, PREFIX-aom.csv, PREFIX-learning.csv");
    app.add_flag("--stop-at-target", options.serving.stop_at_target,
                 "end once all clusters reached it");
    app.add_flag("--quiet", options.serving.quiet, "no line a second on stderr");
}

Result<ParameterServer> make_server(const Options &options) {
    const auto address = Address::parse(options.bind);
    if (!address)
        return std::unexpected(address.error());
    auto server = ParameterServer::make(
        {.bind = *address, .mtu = options.mtu, .ack_all_known_workers = options.ack_all});
    if (!server)
        return server;
    const Packing packing = packing_for(options.format, options.scale);
    for (std::uint32_t id = 0; id < options.clusters; ++id) {
        const Parameters weights = first_weights(options.seed, id);
        auto added = server->add_cluster({
            .cluster = id,
            .weights = {weights.begin(), weights.end()},
            .scale = packing.scale,
            .max_count = packing.max_count,
            .rule = make_rule(kRuleNames.at(options.rule), options.rate),
            .max_series = 1 << 20,
        });
        if (!added)
            return std::unexpected(added.error());
    }
    return server;
}

Result<void> run(const Options &options, const StopSignals &signals) {
    auto server = make_server(options);
    if (!server)
        return std::unexpected(server.error());
    Progress progress(*server, options.clusters, options.target);
    if (auto served = serve(*server, progress, options.serving, signals); !served)
        return served;
    const RunSettings settings = {.seed = options.seed,
                                  .rule = options.rule,
                                  .target = options.target,
                                  .measure = "episode_length"};
    return publish(options.csv, progress, server->stats(), settings);
}

} // namespace

int main(int argc, char **argv) {
    Options options;
    CLI::App app{"Serve CartPole models to asynchronous workers"};
    define(app, options);
    CLI11_PARSE(app, argc, argv);
    const StopSignals signals;
    if (const auto done = run(options, signals); !done) {
        fmt::print(stderr, "{}\n", done.error().message());
        return 1;
    }
}
