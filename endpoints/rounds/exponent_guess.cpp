// SPDX-License-Identifier: BSD-2-Clause
#include "endpoints/rounds/exponent_guess.hpp"

#include <algorithm>

namespace olaf {
namespace {

// Exponents of float32 are -148 to 128. As said in a lane: not below 2, since 0 is none and 1 all
// zero.
constexpr int kSaidAbove = 200;
constexpr std::uint64_t kSaidZero = 1;
constexpr std::uint64_t kMostSaid = 400;
// Of so many contributions the sums of both halves have room.
constexpr std::uint32_t kMostCounted = 1 << 14;

std::uint32_t pieces_of(std::size_t elements, std::size_t each) {
    return static_cast<std::uint32_t>((elements + each - 1) / each);
}

} // namespace

bool may_guess(Format format, std::size_t data_lanes) {
    return format != Format::i16x4 && format != Format::f32x2 && data_lanes > 1;
}

FloatPieces cut_floats(Format format, std::size_t data_lanes, std::size_t elements,
                       std::uint32_t ahead) {
    const std::size_t in_lane = elements_per_lane(format), each = data_lanes * in_lane;
    const std::uint32_t pieces = pieces_of(elements, each);
    if (pieces > 2 * std::uint64_t{ahead} || !may_guess(format, data_lanes))
        return {
            .elements = elements, .each = each, .pieces = pieces, .lag = std::min(pieces, ahead)};
    const std::uint32_t shorter = pieces_of(elements, each - in_lane);
    return {.elements = elements,
            .each = each - in_lane,
            .pieces = shorter,
            .lag = shorter,
            .guesses = true};
}

std::int16_t guess_after(std::int16_t last, unsigned bits) {
    if (bits == 0)
        return kNoGuess;
    return last == kAllZero || last == kNotFinite
               ? last
               : static_cast<std::int16_t>(last + static_cast<int>(bits / 2));
}

// The guess in the lower half and its square in the upper one. Of n numbers, n times the sum of the
// squares is the square of the sum only if all are equal.
std::uint64_t say_guess(std::int16_t guess) {
    if (guess == kNoGuess)
        return 0;
    const std::uint64_t said =
        guess == kAllZero ? kSaidZero : static_cast<std::uint64_t>(guess + kSaidAbove);
    return said + (said * said << 32);
}

std::int16_t agreed_guess(std::uint64_t sum, std::uint32_t count) {
    const std::uint64_t guesses = sum & UINT32_MAX, squares = sum >> 32;
    if (guesses == 0 || count == 0 || count > kMostCounted || squares * count != guesses * guesses)
        return kNoGuess;
    const std::uint64_t said = guesses / count;
    if (said > kMostSaid)
        return kNoGuess;
    return said == kSaidZero ? kAllZero
                             : static_cast<std::int16_t>(static_cast<int>(said) - kSaidAbove);
}

bool is_good_guess(std::int16_t guess, std::int16_t exponent, unsigned bits) {
    if (guess == kNoGuess || bits == 0)
        return false;
    if (exponent == kAllZero || exponent == kNotFinite)
        return true; // zeros, or NaN: whatever was packed
    return guess != kAllZero && exponent <= guess && exponent + static_cast<int>(bits) >= guess;
}

void ExponentHistory::remember(std::size_t elements, std::span<const std::int16_t> exponents) {
    std::erase_if(last_, [&](const Last &each) { return each.elements == elements; });
    if (last_.size() == kLengths)
        last_.erase(last_.begin());
    last_.push_back({.elements = elements, .exponents = {exponents.begin(), exponents.end()}});
}

std::int16_t ExponentHistory::last(std::size_t elements, std::uint32_t piece) const {
    const auto last = std::ranges::find(last_, elements, &Last::elements);
    if (last == last_.end() || piece >= last->exponents.size())
        return kNoGuess;
    return last->exponents[piece];
}

} // namespace olaf
