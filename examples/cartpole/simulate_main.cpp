// SPDX-License-Identifier: BSD-2-Clause
// olaf-cartpole-simulate: how fast does the example learn over a given path?
// One line a seed, on virtual time; nothing is sent.
#include "simulation.hpp"
#include "wire.hpp"

#include "examples/training/rounding_options.hpp"

#include <CLI/CLI.hpp>
#include <fmt/core.h>

using namespace olaf::cartpole;

namespace {

// How gradients travel, if not as floats.
struct FixedPoint {
    std::optional<olaf::Format> format;
    double scale = 0;
    std::uint32_t max_count = 0;

    void define(CLI::App &app) {
        app.add_option("--format", format, "gradients travel in fixed point; floats by default")
            ->transform(CLI::CheckedTransformer(kFormatNames));
        app.add_option("--scale", scale, "its steps per unit, 0: the format's own");
        app.add_option("--max-count", max_count, "most updates in one, 0: the format's own");
    }

    std::optional<olaf::Packing> packing() const {
        if (!format)
            return {};
        olaf::Packing packing = packing_for(*format, scale);
        if (max_count != 0)
            packing.max_count = max_count;
        return packing;
    }
};

// One line a seed.
void train(SimulationOptions options, unsigned seeds) {
    for (unsigned count = 0; count < seeds; ++count, ++options.seed) {
        const SimulationResult result = simulate(options);
        fmt::print("seed {} reached_s {:6.2f} final {:5.1f} mean_after {:5.1f} sent {} "
                   "received {} folded {} staleness {:.1f} largest {:.3f} clipped {} steps {}\n",
                   options.seed, result.reached_s.value_or(-1), result.final_mean,
                   result.mean_after, result.sent, result.received, result.folded,
                   result.mean_staleness, result.largest_element, result.clipped, result.steps);
    }
}

} // namespace

int main(int argc, char **argv) {
    SimulationOptions options;
    FixedPoint fixed;
    unsigned seeds = 5;
    double interval_ms = 30, delay_ms = 2, departure_ms = 0, ack_delay_ms = 1;

    CLI::App app{"Train CartPole in one process over a simulated path"};
    app.option_defaults()->always_capture_default();
    app.add_option("--seed", options.seed, "first seed");
    app.add_option("--seeds", seeds, "how many seeds");
    app.add_option("--workers", options.workers, "workers of the cluster");
    app.add_option("--interval-ms", interval_ms, "time between a worker's updates");
    app.add_option("--duration", options.duration_s, "virtual seconds of training");
    app.add_option("--target", options.target, "mean episode length to reach");
    app.add_flag("--stop", options.stop_at_target, "stop at the target");
    app.add_option("--loss", options.path.loss, "share of updates lost");
    app.add_option("--delay-ms", delay_ms, "mean delay of an update");
    app.add_option("--departure-ms", departure_ms, "fold waiting updates, one leaves this often");
    app.add_option("--ack-delay-ms", ack_delay_ms, "delay of new weights");
    app.add_flag("--ack-everyone", options.path.ack_everyone, "weights go to the whole cluster");
    fixed.define(app);
    olaf::training::define_rounding(app, options.rounding);
    app.add_option("--rule", options.rule, "the server's rule")
        ->transform(CLI::CheckedTransformer(kRuleNames));
    app.add_option("--rate", options.rate, "its rate, 0: the rule's own");
    app.add_option("--steps", options.actor.min_steps, "steps of an update, at least");
    app.add_option("--discount", options.actor.discount, "discount");
    app.add_option("--trace", options.actor.trace, "GAE trace");
    app.add_option("--clip", options.actor.clip, "gradient norm limit");
    app.add_option("--entropy", options.actor.objective.entropy, "entropy weight");
    app.add_option("--value", options.actor.objective.value, "value weight");
    CLI11_PARSE(app, argc, argv);
    options.interval_s = interval_ms / 1e3;
    options.path.delay_s = delay_ms / 1e3;
    options.path.departure_s = departure_ms / 1e3;
    options.path.ack_delay_s = ack_delay_ms / 1e3;

    options.packing = fixed.packing();
    try {
        train(options, seeds);
    } catch (const std::exception &error) {
        fmt::print(stderr, "{}\n", error.what());
        return 1;
    }
}
