// SPDX-License-Identifier: BSD-2-Clause
#include "endpoints/async/replica.hpp"

#include <algorithm>

namespace olaf {
namespace {

// Versions wrap: a is before b if the shorter way from a to b leads up.
bool before(std::uint32_t a, std::uint32_t b) {
    return static_cast<std::int32_t>(a - b) < 0;
}

} // namespace

Decoded<Replica::Taken> Replica::take(const Ack &ack, std::span<const std::uint64_t> lanes) {
    const auto segments = Segments::of(weights_.size(), ack.segments);
    if (!segments)
        return std::unexpected(Reject::wrong_segment);
    if (lanes.empty())
        return Taken::nothing;
    const Slice slice = segments->slice(ack.segment);
    if (lanes.size() != lanes_for(Format::f32x2, slice.size()))
        return std::unexpected(Reject::wrong_lanes);

    recut(ack.segments);
    Held &held = held_[ack.segment];
    if (held.any && before(ack.model_version, held.version) && ++held.stale_in_a_row < kRestart)
        return Taken::stale;
    // The same version again is the same weights: nothing new, nothing wrong.
    if (held.any && ack.model_version == held.version) {
        held.stale_in_a_row = 0;
        return Taken::nothing;
    }

    // Can't fail: the sizes agree.
    (void)unpack_weights(lanes, std::span(weights_).subspan(slice.begin, slice.size()));
    missing_ -= held.any ? 0 : 1;
    held = {.any = true, .version = ack.model_version, .stale_in_a_row = 0};
    find_oldest();
    return Taken::fresh;
}

void Replica::recut(std::size_t segments) {
    if (held_.size() == segments)
        return;
    held_.assign(segments, {.any = complete(), .version = version(), .stale_in_a_row = 0});
    missing_ = held_[0].any ? 0 : segments;
}

void Replica::find_oldest() {
    oldest_ = held_[0].version;
    for (const Held &held : held_)
        if (held.any && before(held.version, oldest_))
            oldest_ = held.version;
}

} // namespace olaf
