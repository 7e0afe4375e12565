// SPDX-License-Identifier: BSD-2-Clause
// iSwitch's asynchronous training of one model: workers whose gradients are summed in rounds, and
// the server at the root of their job that has the weights. Each worker computes its next gradient
// while its last one is summed. No gradient counts that is more than S versions old.
#pragma once

#include "wire.hpp"

#include <olaf/address.hpp>
#include <olaf/bounded_staleness.hpp>

#include <chrono>
#include <functional>
#include <optional>
#include <string>

namespace olaf::cartpole {

/// What is summed: the gradient, then the mean length of a worker's episodes, in units of the
/// longest. Weights come back: the last element is 1 once the training is over, 0 before.
inline constexpr std::size_t kRoundElements = kParameters + 1;
/// One frame: also the checksum lane, and the one in which short vectors say their guess.
inline constexpr std::uint16_t kRoundLanes = lanes_for(Format::i32x2, kRoundElements) + 2;

struct RoundJob {
    std::uint32_t job = 7;
    std::uint32_t workers = 3;
    std::string run = "cartpole"; ///< the training's name, another one for each (rounds.md, "Runs")
    std::uint64_t seed = 1; ///< of the first weights and of play; the weights' everywhere the same
};

struct RoundServing {
    RoundJob job;
    Address bind;
    std::uint32_t children = 1;                      ///< nodes that send here, or workers
    float target = 400;                              ///< mean episode length to end at
    std::function<bool()> over;                      ///< asked about every 50 ms: end sooner
    std::function<void(const Address &)> bound = {}; ///< told where it listens, before it does
    /// After the end it still answers who lacks the last weights, until all are silent for so long.
    std::chrono::nanoseconds silence = std::chrono::seconds(1);
};

struct RoundServed {
    std::uint64_t rounds = 0;        ///< versions of the weights
    std::uint64_t gradients = 0;     ///< in them
    double mean_length = 0;          ///< of the last episodes
    std::optional<double> reached_s; ///< when that was the target, from the start
};

/// Serves weights until the target is reached or `over`, and then until every worker that asks
/// knows it. Fails as RoundServer does.
[[nodiscard]] Result<RoundServed> serve_rounds(const RoundServing &serving);

struct RoundWorking {
    RoundJob job;
    Address node;
    std::uint32_t rank = 0;
    std::uint32_t staleness = 3; ///< S
    std::function<bool()> over;  ///< asked after each gradient, and about every 100 ms: end sooner
};

struct RoundWorked {
    BoundedStaleness::Stats stats;
    std::uint32_t version = 0; ///< of the last weights
    bool trained = false;      ///< the server said that the training is over
};

/// Trains until the server says that it is over, or `over`. Fails as Collective does.
[[nodiscard]] Result<RoundWorked> work_in_rounds(const RoundWorking &working);

} // namespace olaf::cartpole
