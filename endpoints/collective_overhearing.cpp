// SPDX-License-Identifier: BSD-2-Clause
// Sums that others have without this worker come by themselves: a node gives each member all. The
// newest is kept whole, so that who is behind needn't ask for what the node has given up by then.
#include <algorithm>

#include <olaf/rounds.h>

#include "collective_member.hpp"

namespace olaf {

void CollectiveMember::overhear(std::size_t elements) {
    overheard_ = elements;
    heard_ = {};
}

CollectiveMember::Heard *CollectiveMember::newest_heard() {
    Heard *newest = nullptr;
    for (Heard &each : heard_)
        if (each.is_whole() && each.generation == child_->generation() &&
            !olaf_is_before(each.vector.round, child_->next_round()) &&
            (newest == nullptr || olaf_is_before(newest->vector.round, each.vector.round)))
            newest = &each;
    return newest;
}

// Where the result's vector is put together; null: it is of no use.
CollectiveMember::Heard *CollectiveMember::heard_of(const RoundResult &result) {
    const FloatPieces pieces = cut(Element::f32, overheard_);
    Heard *const whole = newest_heard();
    if (result.chunks != pieces.pieces + pieces.lag ||
        (whole != nullptr && olaf_is_before(result.round, whole->vector.round)))
        return nullptr;
    const auto is_current = [&](const Heard &each) {
        return !each.sum.empty() && each.generation == result.generation;
    };
    Heard *place = nullptr; // one of no use, or the oldest
    for (Heard &each : heard_) {
        if (is_current(each) && each.vector.round == result.round)
            return &each;
        if (&each == whole || (place != nullptr && !is_current(*place)))
            continue;
        if (place == nullptr || !is_current(each) ||
            olaf_is_before(each.vector.round, place->vector.round))
            place = &each;
    }
    if (is_current(*place) && olaf_is_before(result.round, place->vector.round))
        return nullptr;
    place->generation = result.generation;
    place->chunks.assign(result.chunks, false);
    place->sum.resize(overheard_);
    place->vector = {.round = result.round,
                     .data = place->sum.data(),
                     .elements = overheard_,
                     .pieces = pieces.pieces,
                     .lag = pieces.lag,
                     .each = pieces.each,
                     .whole = overheard_,
                     .guesses = pieces.guesses,
                     .left = result.chunks,
                     .exponents = std::vector<std::int16_t>(pieces.lag == 0 ? 0 : pieces.pieces)};
    return place;
}

// A piece whose exponent was lost isn't understood: then that vector never is whole.
void CollectiveMember::overhear(const RoundResult &result, std::span<const std::uint64_t> lanes) {
    Heard *const heard = overheard_ == 0 ? nullptr : heard_of(result);
    if (heard == nullptr || heard->chunks[result.chunk])
        return;
    Vector &vector = heard->vector;
    if (vector.lag != 0 && result.chunk >= vector.lag && !heard->chunks[result.chunk - vector.lag])
        return;
    const bool has_sum = unpack(vector, result, lanes);
    heard->chunks[result.chunk] = true;
    vector.left--;
    if (!has_sum || result.chunk >= vector.lag)
        return;
    heard->chunks[result.chunk + vector.lag] = true; // spared
    vector.left--;
}

bool CollectiveMember::take_overheard(std::span<float> vector) {
    Heard *const newest = newest_heard();
    if (broken_ || !vectors_.empty() || newest == nullptr || newest->sum.size() != vector.size())
        return false;
    std::ranges::copy(newest->sum, vector.begin());
    while (!olaf_is_before(newest->vector.round, child_->next_round()))
        child_->skip(newest->vector.pieces + newest->vector.lag);
    return true;
}

} // namespace olaf
