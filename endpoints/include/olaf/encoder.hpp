// SPDX-License-Identifier: BSD-2-Clause
// Rounding that keeps what few bits would lose: a worker's own business, which neither the queue
// nor the server needs to know of.
#pragma once

#include <optional>
#include <vector>

#include <olaf/packing.hpp>

namespace olaf {

/// How gradients become whole fixed-point steps. To nearest unless set otherwise.
struct Rounding {
    /// Up or down at random, so that the expected value is the gradient's: within 2^-21 of a step
    /// with i32x2, exactly but for the 2^-32 of a random number's last bit with i16x4.
    bool stochastic = false;
    /// What rounding cut off an update's element is added to the same element of the next one. So
    /// a worker's sum over updates is off by no more than one update's rounding. What clipping
    /// cut off isn't kept.
    bool error_feedback = false;
    /// Of the random numbers; one at random if empty.
    std::optional<std::uint64_t> seed = {};
};

/// The largest power of two at which an element of magnitude `largest` takes at most
/// 1 / `headroom` of the packing's range; the packing's own scale isn't looked at. No sum of
/// max_count updates overflows at any scale: what is too large for it is clipped. So headroom, 1 or
/// more, is for gradients larger than any seen so far. Fails on an invalid format or max_count,
/// and if no scale can be found: `largest` isn't positive and finite, or headroom below 1.
[[nodiscard]] Result<double> fitting_scale(const Packing &packing, double largest,
                                           double headroom = 4);

/// Packs one worker's updates, one after another. Not thread-safe.
class Encoder {
  public:
    /// `elements` are the model's. Fails if the packing is invalid, or if i64x1, which has
    /// steps to spare, is to be rounded other than to nearest.
    [[nodiscard]] static Result<Encoder> make(const Packing &packing, const Rounding &rounding,
                                              std::size_t elements);

    /// As olaf::pack(), with this rounding, the slice of an update that begins at that element.
    /// Fails also if the slice goes beyond the model.
    [[nodiscard]] Result<PackReport> pack(std::size_t begin, std::span<const float> slice,
                                          std::span<std::uint64_t> lanes);

    /// Error feedback: what the next update gets more, in the gradient's units. No element's
    /// magnitude is above half a step (stochastic: above one step). Empty without error feedback.
    [[nodiscard]] std::span<const float> residual() const { return residual_; }

  private:
    Encoder(const Packing &packing, const Rounding &rounding, std::size_t elements);

    Packing packing_;
    Rounding rounding_;
    std::size_t elements_;
    std::vector<float> residual_;
    std::uint64_t random_; // of splitmix64
};

} // namespace olaf
