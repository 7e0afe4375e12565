// SPDX-License-Identifier: BSD-2-Clause
// iSwitch's asynchronous training over rounds: gradients of slow workers count as long as they are
// at most S versions old (docs/rounds.md, "Workers that are some versions behind").
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include <olaf/collective.hpp>

namespace olaf {

/// One worker's end of a job with a threshold H, at whose root is a RoundServer: sums of H
/// gradients come up, weights come down, and the rounds number the weights' versions. A gradient is
/// part of a round's sum only if the round is at most S versions after that of the weights it was
/// computed on. Not thread-safe; nothing is sent and taken in but in its calls.
class BoundedStaleness {
  public:
    /// A Collective after start(), which must live longer and be used for nothing else, the weights
    /// that the RoundServer begins with, and S. commit() calls `enough`, if there is one, before each
    /// round that it would take part in, with the newest weights: true if the training is over. Then
    /// others may take part in no further round, and this worker would wait for them in vain.
    BoundedStaleness(Collective &collective, std::vector<float> weights, std::uint32_t bound,
                     std::function<bool(std::span<const float> weights)> enough = {})
        : collective_(&collective), weights_(std::move(weights)), heard_(weights_.size()),
          bound_(bound), enough_(std::move(enough)) {
        collective_->overhear(weights_.size());
    }

    enum class Outcome : std::uint8_t {
        committed, ///< part of it at least: another threshold may have cut the vector elsewhere
        too_stale, ///< in no sum: the others were more than S versions on
        enough,    ///< in no sum: the training is over
        unknown,   ///< in one sum or none: the node had given up that round's result before it came
    };

    /// Offers a gradient, computed on the weights of that version, to one round after another until
    /// one has it in its sum or it is too old, never to two that may both have it; takes the newest
    /// weights that are known. Waits for the others. Fails as Collective::allreduce() does, and on
    /// another number of elements than the weights have.
    [[nodiscard]] Result<Outcome> commit(std::span<const float> gradient, std::uint32_t version);

    /// The newest that this worker has. They change in commit().
    [[nodiscard]] std::span<const float> weights() const { return weights_; }
    /// Of weights(): the rounds that made them. Wraps.
    [[nodiscard]] std::uint32_t version() const { return version_; }

    struct Stats {
        std::uint64_t committed = 0;
        std::uint64_t too_stale = 0;
        std::uint64_t unknown = 0;
        std::uint64_t offered = 0;  ///< to rounds, so more than `committed` where one came late
        std::uint64_t followed = 0; ///< rounds whose weights it asked for, with no part in them
        std::uint64_t skipped = 0;  ///< rounds that were over before this worker was there
        std::uint32_t stalest = 0;  ///< of those committed: versions old
    };
    [[nodiscard]] const Stats &stats() const { return stats_; }

  private:
    enum class Round : std::uint8_t { took, left_out, missed };
    Result<Round> settle(Collective::Operation operation, std::vector<float> &vector);
    Result<Round> offer(std::span<const float> gradient);
    bool take_heard();
    Result<void> catch_up();

    Collective *collective_;
    std::vector<float> weights_;
    std::vector<float> heard_; // as large
    std::uint32_t bound_;
    std::function<bool(std::span<const float>)> enough_;
    std::uint32_t version_ = 0;
    Stats stats_;
};

} // namespace olaf
