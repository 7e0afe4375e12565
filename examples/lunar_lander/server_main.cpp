// SPDX-License-Identifier: BSD-2-Clause
// olaf-lunar-lander-server: one LunarLander model a cluster, moved by whatever updates arrive, and
// a record of how that went.
#include "rules.hpp"
#include "wire.hpp"

#include "examples/training/results.hpp"
#include "examples/training/serving.hpp"

#include <CLI/CLI.hpp>
#include <fmt/core.h>

using namespace olaf;
using namespace olaf::lunar_lander;
using namespace olaf::training;

namespace {

enum class Acknowledge { cluster, known, sender };
const std::map<std::string, Acknowledge> kAcknowledgeNames = {{"cluster", Acknowledge::cluster},
                                                              {"known", Acknowledge::known},
                                                              {"sender", Acknowledge::sender}};

struct Options {
    std::string bind = "0.0.0.0";
    std::uint32_t clusters = 1;
    std::string rule = "sum";
    double rate = kRate;
    std::uint32_t gather = 8;
    double gather_scale = 1;
    Acknowledge acknowledge = Acknowledge::known;
    std::uint64_t seed = 1;
    float target = 200;
    std::size_t mtu = kMtu;
    std::string csv;
    ServingOptions serving = {.measure = "reward"};
};

void define(CLI::App &app, Options &options) {
    app.option_defaults()->always_capture_default();
    app.add_option("--bind", options.bind, "ADDR[:PORT] to listen on");
    app.add_option("--clusters", options.clusters, "clusters to serve: 0 … N−1")
        ->check(CLI::Range(1U, 65536U));
    app.add_option("--rule", options.rule, "how an update moves the weights")
        ->check(CLI::IsMember(kRuleNames));
    app.add_option("--rate", options.rate, "how much of an update's change is taken")
        ->check(CLI::PositiveNumber);
    app.add_option("--gather", options.gather, "updates that the rule gather collects for a step")
        ->check(CLI::Range(1U, 65536U));
    app.add_option("--gather-scale", options.gather_scale, "its steps are so many times as long")
        ->check(CLI::PositiveNumber);
    app.add_option("--ack", options.acknowledge,
                   "whom an answer is for: cluster, one that the network copies to all of it; "
                   "known, one to each of its workers heard of; sender")
        ->transform(CLI::CheckedTransformer(kAcknowledgeNames))
        ->default_str("known");
    app.add_option("--seed", options.seed, "of the first weights");
    app.add_option("--target", options.target, "mean reward to reach");
    app.add_option("--mtu", options.mtu, "IP MTU on the way to the workers");
    app.add_option("--csv", options.csv, "write PREFIX.json, PREFIX-aom.csv, PREFIX-learning.csv");
    app.add_option("--duration", options.serving.duration_s, "seconds, 0: until SIGINT or SIGTERM")
        ->check(CLI::NonNegativeNumber);
    app.add_flag("--stop-at-target", options.serving.stop_at_target,
                 "end once all clusters reached it");
    app.add_flag("--quiet", options.serving.quiet, "no line a second on stderr");
}

Rule make_rule(const Options &options, const Gathered &waiting) {
    switch (kRuleNames.at(options.rule)) {
    case RuleName::sum:
        break;
    case RuleName::mean:
        return mean_rule(options.rate);
    case RuleName::paper:
        return paper_rule(options.rate);
    case RuleName::gate:
        return gated_rule(options.rate);
    case RuleName::gather:
        return gather_rule(options.rate * options.gather_scale, options.gather, waiting);
    }
    return async_sgd_rule(options.rate);
}

/// waiting: of each cluster, filled here.
Result<ParameterServer> make_server(const Options &options, std::vector<Gathered> &waiting) {
    const auto address = Address::parse(options.bind);
    if (!address)
        return std::unexpected(address.error());
    auto server = ParameterServer::make(
        {.bind = *address,
         .mtu = options.mtu,
         .ack_all_known_workers = options.acknowledge == Acknowledge::known,
         .address_every_worker = options.acknowledge == Acknowledge::cluster});
    for (std::uint32_t id = 0; server && id < options.clusters; ++id) {
        const Parameters weights = first_weights(options.seed, id);
        waiting.push_back(std::make_shared<std::uint32_t>(0));
        auto added = server->add_cluster({
            .cluster = id,
            .weights = {weights.begin(), weights.end()},
            .scale = kPacking.scale,
            .max_count = kPacking.max_count,
            .rule = make_rule(options, waiting.back()),
            .max_series = 1 << 20,
        });
        if (!added)
            return std::unexpected(added.error());
    }
    return server;
}

Result<void> run(const Options &options, const StopSignals &signals) {
    std::vector<Gathered> waiting;
    auto server = make_server(options, waiting);
    if (!server)
        return std::unexpected(server.error());
    Progress progress(*server, options.clusters, options.target);
    if (auto served = serve(*server, progress, options.serving, signals); !served)
        return served;
    for (std::size_t id = 0; id < waiting.size(); ++id)
        if (*waiting[id] > 0)
            fmt::print(stderr, "cluster {}: {} of {} gathered updates were never applied\n", id,
                       *waiting[id], options.gather);
    const RunSettings settings = {
        .seed = options.seed, .rule = options.rule, .target = options.target};
    return publish(options.csv, progress, server->stats(), settings);
}

} // namespace

int main(int argc, char **argv) {
    Options options;
    CLI::App app{"Serve LunarLander models to asynchronous workers"};
    define(app, options);
    CLI11_PARSE(app, argc, argv);
    const StopSignals signals;
    if (const auto done = run(options, signals); !done) {
        fmt::print(stderr, "{}\n", done.error().message());
        return 1;
    }
}
