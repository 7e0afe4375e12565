// SPDX-License-Identifier: BSD-2-Clause
// iSwitch's asynchronous training over rounds: gradients of slow workers count as long as they are
// at most S versions old (docs/rounds.md, "Workers that are some versions behind").
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <olaf/collective.hpp>

namespace olaf {

/// One worker's end of a job with a threshold H, at whose root is a RoundServer: sums of H
/// gradients come up, weights come down, and the rounds number the weights' versions. A gradient is
/// part of a round's sum only if the round is at most S versions after that of the weights it was
/// computed on. Not thread-safe.
class BoundedStaleness {
  public:
    /// A Collective after join(), which must live longer and be used for nothing else, and the
    /// weights that the RoundServer begins with.
    BoundedStaleness(Collective &collective, std::vector<float> weights, std::uint32_t bound)
        : collective_(&collective), weights_(std::move(weights)), bound_(bound) {}

    enum class Outcome : std::uint8_t {
        committed, ///< part of it at least: another threshold may have cut the vector elsewhere
        too_stale, ///< in no sum: the others were more than S versions on
    };

    /// Offers a gradient, computed on the weights of that version, to one round after another
    /// until one takes it or it is too old; then takes newer weights. Waits for the others. Fails
    /// as Collective::allreduce() does, and on another number of elements than the weights have.
    [[nodiscard]] Result<Outcome> commit(std::span<const float> gradient, std::uint32_t version);

    /// The newest that this worker has. They change in commit().
    [[nodiscard]] std::span<const float> weights() const { return weights_; }
    /// Of weights(): the rounds that made them. Wraps.
    [[nodiscard]] std::uint32_t version() const { return version_; }

    struct Stats {
        std::uint64_t committed = 0;
        std::uint64_t too_stale = 0;
        std::uint64_t offered = 0; ///< to rounds, so more than the other two where one came late
        std::uint32_t stalest = 0; ///< of those committed: versions old
    };
    [[nodiscard]] const Stats &stats() const { return stats_; }

  private:
    enum class Round : std::uint8_t { took, left_out, missed };
    Result<Round> take_part(std::span<const float> gradient);

    Collective *collective_;
    std::vector<float> weights_;
    std::vector<float> vector_; // of the round
    std::uint32_t bound_;
    std::uint32_t version_ = 0;
    std::uint32_t round_ = 0; // the next one; ahead of version_ where rounds were missed
    Stats stats_;
};

} // namespace olaf
