// SPDX-License-Identifier: BSD-2-Clause
#include "round_child.hpp"

#include <algorithm>

#include <olaf/rounds.h>

namespace olaf {

Decoded<void> RoundChild::take(std::span<const std::byte> message,
                               std::span<const std::uint64_t> lanes, Time now) {
    const auto handle = [&]() -> Decoded<void> {
        const auto type = decode_type(message);
        if (!type)
            return std::unexpected(type.error());
        if (*type == OLAF_CONTROL) {
            const auto answer = decode_sync(message);
            return answer ? take_sync(*answer, now) : std::unexpected(answer.error());
        }
        const auto result = decode_result(message);
        return result ? take_result(*result, lanes.first(result->lanes), now)
                      : std::unexpected(result.error());
    };
    const auto handled = handle();
    if (!handled)
        stats_.rejected.add(handled.error());
    return handled;
}

bool RoundChild::is_of_this_job(const RoundResult &result) const {
    return result.lanes == options_.lanes && result.format == options_.format &&
           result.has_checksum == options_.has_checksum;
}

Decoded<void> RoundChild::take_result(const RoundResult &result,
                                      std::span<const std::uint64_t> lanes, Time now) {
    if (result.job != options_.job)
        return std::unexpected(Reject::unknown_cluster);
    const bool is_for_all = result.rank == OLAF_EVERY_WORKER && options_.hears_group;
    if (result.rank != options_.rank && !is_for_all)
        return std::unexpected(Reject::not_addressed);
    last_heard_ = std::max(last_heard_, now);
    if (result.stale)
        return take_stale(result);
    if (!is_of_this_job(result))
        return std::unexpected(Reject::wrong_lanes);
    const auto position = kept_.find(result.round, result.chunk);
    if (failure_ || state_ != State::running || result.generation != generation_ || !position ||
        kept_[*position].held) {
        stats_.unasked++;
        if (position && result.generation == generation_)
            learn_from_twin(kept_[*position]);
        overhear(result, lanes);
        return {};
    }
    if (kept_[*position].chunks != result.chunks) {
        fail_for_chunks(kept_[*position].chunks, result);
        return {};
    }
    if (options_.has_checksum && !checksum_matches(lanes))
        return std::unexpected(Reject::wrong_checksum);
    hold(*position, result, lanes, now);
    return {};
}

// Another member's vector isn't this one's.
void RoundChild::fail_for_chunks(std::uint32_t mine, const RoundResult &result) {
    const std::string round = "round " + std::to_string(result.round);
    if (mine == kFarewellChunks || result.chunks == kFarewellChunks)
        return fail_with(mine == kFarewellChunks
                             ? "this member finishes, but another one sums a vector in " + round
                             : "another member finishes, but this one sums a vector in " + round,
                         "all members must finish() after the same vector");
    fail_with("another member's vector of " + round + " has " + std::to_string(result.chunks) +
                  " chunks, this one's " + std::to_string(mine),
              "all members must sum vectors of the same size, in the same order");
}

// A chunk that was sent twice got two answers: nothing was lost, and the first result was the first
// sending's. Where these aren't counted, the time follows the fast answers alone, and what is slow
// is repeated for ever.
void RoundChild::learn_from_twin(KeptChunk &kept) {
    if (kept.held && kept.taken > Time(0)) {
        timeout_.measured(kept.taken);
        congestion_.not_lost();
    }
    kept.taken = Time(0);
}

// A node gives each member all results, those of rounds too that it isn't at yet. Whoever believed
// a wrong one would skip rounds in vain.
void RoundChild::overhear(const RoundResult &result, std::span<const std::uint64_t> lanes) {
    if (failure_ || state_ != State::running || result.generation != generation_ ||
        result.chunks == kFarewellChunks || olaf_is_before(result.round, next_round_) ||
        (options_.has_checksum && !checksum_matches(lanes)))
        return;
    const bool is_known = newest_round_ && !olaf_is_before(*newest_round_, result.round);
    const auto data = lanes.first(lanes.size() - (options_.has_checksum ? 1 : 0));
    // The last chunk, or what spares it. Where the others still sum what another one didn't spare,
    // they do so without this member.
    const bool is_last =
        result.chunk + 1 == result.chunks || (2 * (result.chunk + 1) == result.chunks &&
                                              vectors_->spares(result, data, result.chunk + 1));
    if (is_last && !is_known)
        newest_round_ = result.round;
    vectors_->overhear(result, data);
}

void RoundChild::hold(Position position, const RoundResult &result,
                      std::span<const std::uint64_t> lanes, Time now) {
    KeptChunk &kept = kept_[position];
    const auto data = lanes.first(lanes.size() - (options_.has_checksum ? 1 : 0));
    const bool leads =
        kept.lag > 0 && kept.lag < kept.chunks - kept.chunk; // another chunk follows it
    const bool spares = leads && vectors_->spares(result, data, kept.lag);
    if (leads && kept.told && !tells_the_same(kept, result, spares))
        return;
    kept.held = true;
    if (kept.sendings == 1) {
        const Time turnaround = std::max(now - kept.sent, Time(1));
        timeout_.measured(turnaround);
        congestion_.measured(turnaround);
    } else if (kept.sendings > 1) {
        timeout_.ambiguous(kept.sendings);
        kept.taken = now - kept.sent;
    }
    // Where something is missing from longer ago than a round trip, it may turn out to be lost.
    congestion_.taken(position < limited_ && next_ - oldest_ < 2 * congestion_.size());
    land(kept);
    last_progress_ = now;
    newest_ = std::max(newest_, position);
    uneven_ = result.partial || result.late || result.count < options_.workers;
    if (!kept.delivered) {
        kept.delivered = true;
        stats_.results++;
        stats_.partial += result.partial ? 1 : 0;
        stats_.late += result.late ? 1 : 0;
        kept.told = result.exponent;
        kept.spares = spares;
        vectors_->take(result, data);
        if (spares)
            spare(result.chunk + kept.lag);
    }
    move_on();
    drop_old();
}

// What follows was packed by what was told first. Where members came or went before all began anew,
// the sum may be another one now, and others pack by that.
bool RoundChild::tells_the_same(const KeptChunk &kept, const RoundResult &result, bool spares) {
    if (result.exponent == kept.told && spares == kept.spares)
        return true;
    fail_with(
        "chunk " + std::to_string(kept.chunk) + " of round " + std::to_string(kept.round) +
            " has another exponent than before: members came or went while a node was restarted",
        "begin anew with all members");
    return false;
}

// Past what needn't be sent, and what was waited for.
void RoundChild::move_on() {
    while (next_ < kept_.end() && kept_[next_].held)
        next_++;
    while (oldest_ < next_ && kept_.is_held(oldest_))
        oldest_++;
    while (lacking_ < kept_.end() && (lacking_ < kept_.begin() || kept_[lacking_].delivered))
        lacking_++;
}

Decoded<void> RoundChild::take_stale(const RoundResult &stale) {
    // An answer to what was sent in another generation says nothing about this one.
    if (failure_ || state_ != State::running || stale.count != generation_) {
        stats_.unasked++;
        return {};
    }
    if (stale.generation != generation_) {
        ask();
        return {};
    }
    const auto position = kept_.find(stale.round, stale.chunk);
    if (!position || kept_[*position].held)
        return {};
    kept_[*position].held = true;
    land(kept_[*position]);
    uneven_ = true;
    if (!kept_[*position].delivered) {
        kept_[*position].delivered = true;
        stats_.missed++;
        timeout_.over();
        last_progress_ = std::max(last_progress_, last_heard_);
        vectors_->miss(stale.round, stale.chunk);
        const KeptChunk &kept = kept_[*position];
        if (kept.lag > 0 && kept.lag < kept.chunks - kept.chunk &&
            vectors_->spares_missed(stale.round))
            spare(stale.chunk + kept.lag);
    }
    move_on();
    drop_old();
    return {};
}

} // namespace olaf
