// SPDX-License-Identifier: BSD-2-Clause
// Training of one cluster without a network: workers, a lossy and slow path,
// and the server's rule in one process and in virtual time. A seed gives the
// same run everywhere, so the algorithm can be tuned and tested.
#pragma once

#include "actor.hpp"
#include "rules.hpp"

#include <olaf/encoder.hpp>

#include <cstdint>
#include <optional>

namespace olaf::cartpole {

/// What lies between the workers and the server.
struct Path {
    float loss = 0;         ///< share of updates that never arrive
    double delay_s = 0.002; ///< mean one-way delay of an update; each varies by ±50 %
    double departure_s = 0; ///< > 0: waiting updates are folded into one that leaves this often
    double ack_delay_s = 0.001;
    bool ack_everyone = false; ///< each worker of the cluster gets the weights, not just the sender
};

struct SimulationOptions {
    std::uint64_t seed = 1;
    unsigned workers = 3;
    double interval_s = 0.03;
    double duration_s = 60;
    float target = 400;
    bool stop_at_target = false;
    RuleName rule = RuleName::adam;
    double rate = 0; ///< 0: the rule's own
    Path path;
    /// How gradients travel; empty: as floats, without any loss of bits.
    std::optional<Packing> packing = {};
    Rounding rounding = {}; ///< of fixed point; each worker draws its own seed from it and `seed`
    ActorOptions actor;
};

struct SimulationResult {
    std::optional<double> reached_s; ///< when the mean episode length reached the target
    double final_mean = 0;           ///< mean episode length at the end
    double mean_after = 0;           ///< mean of it, over the updates since it reached the target
    unsigned sent = 0, received = 0, folded = 0;
    double mean_staleness = 0; ///< model versions between a gradient and its use
    float largest_element = 0; ///< of a single gradient: what fixed point must hold
    std::size_t clipped = 0;   ///< elements that it didn't hold
    long steps = 0;            ///< environment steps played
};

/// Throws std::runtime_error on a packing or rounding that libolaf refuses.
SimulationResult simulate(const SimulationOptions &options);

} // namespace olaf::cartpole
