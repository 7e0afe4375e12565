// SPDX-License-Identifier: BSD-2-Clause
// A short vector of floats whose data goes along with its exponents (docs/rounds.md, "Short
// vectors"). Each worker guesses the exponent that all will agree on, packs its data by that, and
// says by which in a lane of its own. If all have packed by the same guess and nothing is too large
// for it, that sum is the result. Pure, but for what ExponentHistory keeps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <olaf/packing.hpp>

#include "endpoints/wire/block_exponent.hpp"

namespace olaf {

/// How a vector of floats that are summed as integers is cut. Workers and a parameter server must
/// cut it alike.
struct FloatPieces {
    std::size_t elements = 0; ///< of the vector
    std::size_t each = 0;     ///< elements of a piece; the last one may have fewer
    std::uint32_t pieces = 0; ///< of which each takes a chunk
    std::uint32_t lag = 0;    ///< chunks by which a piece follows its exponent
    bool guesses = false;     ///< the last data lane says by which exponent the data was packed
};

/// Whether a vector that is short enough guesses: 16-bit elements have no bits to lose.
[[nodiscard]] bool may_guess(Format format, std::size_t data_lanes);

/// `data_lanes`: of a frame, without the checksum lane. `ahead`: CollectiveOptions::ahead.
/// Only vectors of at most 2 · `ahead` full frames guess: if the guess is good they take as many
/// chunks as pieces, else up to a third more than without guessing. Of all that may guess, these
/// alone have twice as many chunks as `lag`.
[[nodiscard]] FloatPieces cut_floats(Format format, std::size_t data_lanes, std::size_t elements,
                                     std::uint32_t ahead);

/// Guesses are exponents as in block_exponent.hpp, or kAllZero; this is none.
inline constexpr std::int16_t kNoGuess = kNotFinite;

/// The guess after a piece whose exponent was `last`, where `bits` may be lost: in their middle.
[[nodiscard]] std::int16_t guess_after(std::int16_t last, unsigned bits);

/// What says, in a lane that adds up, that a contribution was packed by that guess. 0: by none.
[[nodiscard]] std::uint64_t say_guess(std::int16_t guess);

/// The guess that all `count` contributions were packed by, from the sum of those lanes; kNoGuess
/// if they don't agree.
[[nodiscard]] std::int16_t agreed_guess(std::uint64_t sum, std::uint32_t count);

/// Whether data packed by the guess is the result, where the largest element of any worker has that
/// exponent: it fits, and at most `bits` of what the exponent itself would keep are lost.
[[nodiscard]] bool is_good_guess(std::int16_t guess, std::int16_t exponent, unsigned bits);

/// The exponents of the last vector of each length, by which the next one's are guessed.
class ExponentHistory {
  public:
    void remember(std::size_t elements, std::span<const std::int16_t> exponents);
    /// The exponent of that piece of the last vector of that length; kNoGuess if there was none.
    [[nodiscard]] std::int16_t last(std::size_t elements, std::uint32_t piece) const;

  private:
    static constexpr std::size_t kLengths = 32;
    struct Last {
        std::size_t elements = 0;
        std::vector<std::int16_t> exponents = {};
    };
    std::vector<Last> last_; // the newest at the end
};

} // namespace olaf
