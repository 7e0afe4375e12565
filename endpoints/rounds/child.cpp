// SPDX-License-Identifier: BSD-2-Clause
#include "endpoints/rounds/child.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include <olaf/rounds.h>
#include <olaf/try.hpp>

namespace olaf {
namespace {

// Damaged results of a chunk that are told at once.
constexpr unsigned kSpoiltAtOnce = 4;

// Of a chunk that says nothing of its own where the maximum of all is taken.
constexpr std::int16_t kLeastExponent = std::numeric_limits<std::int16_t>::min();

// A hash that tells a chunk's sum from another sum of that chunk. The checksum lane doesn't: it is
// the same where two elements have changed places. Four hashes of every fourth lane, since each
// step waits for the one before.
std::uint64_t print_of(const RoundResult &result, std::span<const std::uint64_t> lanes) {
    constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;
    const auto mix = [](std::uint64_t print, std::uint64_t lane) {
        return std::rotl((print ^ lane) * kOdd, 31);
    };
    std::array<std::uint64_t, 4> prints = {result.count,
                                           static_cast<std::uint16_t>(result.exponent), 0, 0};
    std::size_t i = 0;
    for (; i + prints.size() <= lanes.size(); i += prints.size())
        for (std::size_t each = 0; each < prints.size(); each++)
            prints[each] = mix(prints[each], lanes[i + each]);
    for (; i < lanes.size(); i++)
        prints[0] = mix(prints[0], lanes[i]);
    return mix(mix(mix(prints[0], prints[1]), prints[2]), prints[3]);
}

} // namespace

// ---- vectors, and what is sent of them ----

std::uint32_t RoundChild::add(std::uint32_t chunks, std::uint32_t lag, std::int64_t generated_ns,
                              const VectorKind &kind) {
    waiting_.push_back({.round = next_round_,
                        .chunks = chunks,
                        .lag = lag,
                        .next = 0,
                        .generated_ns = generated_ns,
                        .kind = kind});
    next_round_++;
    forget_newest();
    return waiting_.back().round;
}

std::uint32_t RoundChild::add_farewell(std::int64_t generated_ns, const VectorKind &kind) {
    const std::uint32_t round = add(1, 0, generated_ns, kind);
    waiting_.back().farewell = true;
    return round;
}

// The chunks are kept as probes: if all members begin anew before them, this member sends probes in
// their place.
void RoundChild::skip(std::uint32_t chunks) {
    const std::uint32_t round = next_round_++;
    forget_newest();
    for (std::uint32_t chunk = 0; chunk < chunks; chunk++) {
        kept_.append(
            {.round = round, .chunk = chunk, .chunks = chunks, .held = true, .delivered = true}, 0);
        move_on();
        drop_old();
    }
}

// Rounds wrap.
std::size_t RoundChild::behind() const {
    return newest_round_ ? *newest_round_ + 1 - next_round_ : 0;
}

void RoundChild::forget_newest() {
    if (newest_round_ && olaf_is_before(*newest_round_, next_round_))
        newest_round_.reset();
}

bool RoundChild::is_idle() const {
    return waiting_.empty() && lacking_ == kept_.end();
}

RoundChild::Next RoundChild::next_chunk() const {
    if (next_ < kept_.end()) {
        const KeptChunk &kept = kept_[next_];
        return {.chunk = kept.chunk, .chunks = kept.chunks, .lag = kept.lag};
    }
    const Waiting &vector = waiting_.front();
    return {.chunk = vector.next,
            .chunks = vector.farewell ? kFarewellChunks : vector.chunks,
            .lag = vector.lag};
}

bool RoundChild::next_lacks_its_lead() const {
    const Next next = next_chunk();
    return next.lag > 0 && next.chunk >= next.lag && !kept_.is_held(next_ - next.lag);
}

// docs/rounds.md, "The window".
bool RoundChild::has_room() const {
    if (next_ - oldest_ >= window() || flying_ >= congestion_.size())
        return false;
    const Position before = last_in_slot_[slot_of(next_chunk().chunk)];
    return before == kNowhere || kept_.is_held(before);
}

bool RoundChild::may_send_next() const {
    if (!has_next() || !has_room())
        return false;
    // A farewell waits for all sums: its result tells every member, and a restarted server, that
    // all members hold all sums.
    if (oldest_ != next_ && next_chunk().chunks == kFarewellChunks)
        return false;
    return !next_lacks_its_lead();
}

// The next chunk that was never sent.
void RoundChild::pack_next() {
    Waiting &vector = waiting_.front();
    const Position position = kept_.end();
    KeptChunk &kept = kept_.append({.round = vector.round,
                                    .chunk = vector.next,
                                    .chunks = vector.farewell ? kFarewellChunks : vector.chunks,
                                    .kind = vector.kind,
                                    .lag = vector.lag,
                                    .generated_ns = vector.generated_ns},
                                   options_.lanes);
    const bool follows = kept.lag > 0 && kept.chunk >= kept.lag;
    if (follows && position - kept.lag >= kept_.begin() && kept_[position - kept.lag].brought) {
        kept.delivered = true;
        pack_follower(position - kept.lag);
    } else {
        pack(kept);
    }
    if (++vector.next == vector.chunks)
        waiting_.pop_front();
    pass_spared();
}

void RoundChild::pack(KeptChunk &kept) {
    const auto data = data_of(kept.lanes);
    const auto exponent = vectors_->contribute(kept.round, kept.chunk, data);
    kept.exponent = exponent.value_or(0);
    if (!exponent)
        kept.lanes.clear(); // a probe
    else if (options_.has_checksum)
        kept.lanes.back() = checksum(data);
    if (!kept.leads())
        return;
    const auto source = vectors_->source(kept.round, kept.chunk);
    kept.source.assign(source.begin(), source.end());
}

// Packs the chunk `lag` later by what this one was told last, whatever the user made of the vector
// since. Precondition: it is kept.
void RoundChild::pack_follower(Position position) {
    const KeptChunk &kept = kept_[position];
    KeptChunk &follower = kept_[position + kept.lag];
    follower.lanes.assign(options_.lanes, 0);
    const auto data = data_of(follower.lanes);
    if (kept.source.empty() ||
        !vectors_->pack_anew(follower.round, follower.chunk, *kept.told, kept.source, data))
        follower.lanes.clear(); // a probe: this member has nothing to give
    else if (options_.has_checksum)
        follower.lanes.back() = checksum(data);
}

// The place of a chunk that wasn't packed. Its vector is the one that is being packed, since the
// chunk that it follows has just been taken.
std::vector<bool>::reference RoundChild::is_spared(Position position) {
    Waiting &vector = waiting_.front();
    vector.spared.resize(vector.chunks);
    return vector.spared[vector.next + (position - kept_.end())];
}

// Nobody sends the chunk: an earlier one has brought its sum.
void RoundChild::spare(Position position) {
    if (position < kept_.end()) {
        kept_.set_spared(position, true);
        kept_[position].delivered = true;
        return;
    }
    is_spared(position) = true;
    pass_spared();
}

// All others send it, and so does this member.
void RoundChild::send_after_all(Position position) {
    if (position < kept_.end()) {
        kept_.set_spared(position, false);
        kept_[position].held = false;
    } else {
        is_spared(position) = false;
    }
}

// Keeps chunks that needn't be packed. They lie in no slot, as they aren't sent. They count as held
// once the chunk that spares them is: it may be agreed on anew.
void RoundChild::pass_spared() {
    while (!waiting_.empty() && !waiting_.front().spared.empty() &&
           waiting_.front().spared[waiting_.front().next]) {
        Waiting &vector = waiting_.front();
        kept_.append({.round = vector.round,
                      .chunk = vector.next,
                      .chunks = vector.chunks,
                      .kind = vector.kind,
                      .lag = vector.lag,
                      .generated_ns = vector.generated_ns,
                      .exponent = kLeastExponent,
                      .held = kept_.is_held(kept_.end() - vector.lag),
                      .delivered = true,
                      .spared = true},
                     0);
        if (++vector.next == vector.chunks)
            waiting_.pop_front();
    }
    move_on();
}

// A probe's frame brings its own answer or nothing. So a probe says FLUSH: no result of other
// chunks may wait for its frame.
RoundChild::Sending RoundChild::contribution(Position position, Time now, bool flush) {
    KeptChunk &kept = kept_[position];
    kept.sendings++;
    (kept.sendings == 1 ? stats_.sent : stats_.repeated)++;
    kept.sent_last = now;
    kept.last_sending = ++sendings_;
    if (kept.sendings == 1)
        kept.sent = now;
    else
        again_.push_back({.at = {},
                          .number = kept.last_sending,
                          .position = position,
                          .sendings = kept.sendings});
    if (flying_ >= congestion_.size())
        limited_ = next_;
    return {.header =
                encode(RoundContribution{.job = options_.job,
                                         .rank = options_.rank,
                                         .round = kept.round,
                                         .generated_ns = kept.generated_ns,
                                         .chunk = kept.chunk,
                                         .chunks = kept.chunks,
                                         .kind = kept.kind,
                                         .generation = generation_,
                                         .exponent = kept.exponent,
                                         .lanes = static_cast<std::uint16_t>(kept.lanes.size()),
                                         .format = options_.format,
                                         .has_checksum = options_.has_checksum,
                                         .partial = kept.lanes.empty(),
                                         .flush = flush || kept.lanes.empty(),
                                         .spoilt = kept.spoilt > 0}),
            .lanes = kept.lanes,
            .again = kept.sendings > 1,
            .joins = gso_ && kept.sendings == 1};
}

RoundChild::Sending RoundChild::send_next(Time now) {
    const Position position = next_;
    if (position == kept_.end())
        pack_next();
    last_in_slot_[slot_of(kept_[position].chunk)] = position;
    next_++;
    move_on();
    fly(kept_[position]);
    return contribution(position, now, must_flush());
}

// Whether what follows is a chunk of a short vector's second half, whose sum an earlier one may
// bring that is under way: perhaps it is never sent.
bool RoundChild::may_be_spared_next() const {
    const Next next = next_chunk();
    return next.chunks == 2 * next.lag && next_lacks_its_lead();
}

// Results ride on contributions, and each result lets another contribution be sent. So the line of
// results goes on by itself while the window moves. Some frames find no result to carry: one FLUSH
// a window makes up for them. Where sums lack a member, more results are owed than frames come:
// then a member that only waits for results always says FLUSH. So it does where no frame may follow
// that could carry them.
bool RoundChild::must_flush() {
    if (may_send_next())
        return false;
    if (!uneven_ && has_next() && !may_be_spared_next() && !has_room() &&
        next_ - flushed_ < at_once())
        return false;
    flushed_ = next_;
    return true;
}

std::optional<RoundChild::Sending> RoundChild::next(Time now, std::int64_t tai_ns, bool again) {
    if (failure_)
        return {};
    if (state_ == State::strange && (starting_ || has_next()))
        ask();
    if (state_ == State::asking)
        return send_sync(now, tai_ns);
    if (state_ != State::running)
        return {};
    if (auto probe = send_proof(now))
        return probe;
    if (auto repeated = again ? send_again(now) : std::nullopt)
        return repeated;
    if (may_send_next())
        return send_next(now);
    return {};
}

RoundChild::Time RoundChild::wakes_at() const {
    if (failure_)
        return kNever;
    if (state_ == State::strange)
        return starting_ || has_next() ? Time(0) : kNever;
    if (state_ == State::asking)
        return ask_at_;
    if (may_send_next() || may_send_again() || (proof_ && proof_->half))
        return Time(0);
    // A chunk that was answered meanwhile wakes the caller too early at worst.
    const Time lost = overtaken_.empty() ? kNever : overtaken_.front().at;
    return std::min({lost, overdue_at(), proof_ ? proof_->at : kNever});
}

// No member can be further behind than what is kept (docs/rounds.md, "The window").
void RoundChild::drop_old() {
    while (kept_.begin() < std::min(oldest_, lacking_) &&
           kept_.end() - kept_.begin() > most_kept_ + kept_.spared() && !is_source_needed())
        kept_.drop();
}

// Whether what follows from the oldest chunk isn't packed yet.
bool RoundChild::is_source_needed() const {
    const KeptChunk &oldest = kept_[kept_.begin()];
    return oldest.leads() && kept_.begin() + oldest.lag >= kept_.end();
}

// ---- what is sent again ----

// Whether the note is out of date: the chunk was answered meanwhile, or sent again.
bool RoundChild::is_void(Position position, unsigned sendings) const {
    return kept_.is_held(position) || kept_[position].sendings != sendings;
}

void RoundChild::forget_answered() {
    while (!again_.empty() && is_void(again_.front().position, again_.front().sendings))
        again_.pop_front();
    while (!lost_.empty() && is_void(lost_.begin()->first, lost_.begin()->second))
        lost_.erase(lost_.begin());
}

// When the oldest chunk goes again though no later chunk has a result: its time is up, and half of
// that has passed since the last result, and since this host still had frames to send. Where one
// member was late, the results that it held up follow each other, and none of these chunks was
// lost.
RoundChild::Time RoundChild::overdue_at() const {
    if (oldest_ == next_ || !kept_[oldest_].flying)
        return kNever;
    const KeptChunk &oldest = kept_[oldest_];
    const Time patience = timeout_.after(oldest.timeouts);
    const Time held_up = std::min(held_up_, oldest.sent_last + kHeldUpAtMost);
    return std::max(oldest.sent_last + patience, std::max(last_result_, held_up) + patience / 2);
}

// Moves chunks that count as lost to lost_: those that were overtaken long enough ago, and the
// oldest chunk once its time is up. While nothing comes, the node or another member may be late, so
// only the oldest chunk is sent again.
void RoundChild::find_lost(Time now) {
    for (; !overtaken_.empty() && overtaken_.front().at <= now; overtaken_.pop_front()) {
        const ChunkSending &sending = overtaken_.front();
        if (is_void(sending.position, sending.sendings) || !kept_[sending.position].flying)
            continue;
        lose(sending.position);
        congestion_.lost(sending.position, next_);
    }
    if (overdue_at() <= now) {
        kept_[oldest_].timeouts++;
        probed_ = now;
        lose(oldest_);
    }
    forget_answered();
}

void RoundChild::lose(Position position) {
    land(kept_[position]);
    lost_.emplace(position, kept_[position].sendings);
}

// The chunk has its result. All members send chunks in the same order, so earlier chunks that were
// sent once and have no result are overtaken. In what order other members repeat chunks isn't
// known: a repetition is overtaken only by a result of what this member sent after it.
void RoundChild::learn_order(Position position, Time now) {
    const KeptChunk &kept = kept_[position];
    newest_ = std::max(newest_, position);
    if (kept.sendings == 1 || now - kept.sent_last >= timeout_.least())
        answered_ = std::max(answered_, kept.last_sending);
    for (passed_ = std::max(passed_, kept_.begin()); passed_ < newest_; passed_++)
        if (kept_[passed_].sendings == 1)
            is_overtaken(passed_, now);
    for (; !again_.empty() && again_.front().number < answered_; again_.pop_front())
        if (!is_void(again_.front().position, again_.front().sendings))
            is_overtaken(again_.front().position, now);
}

void RoundChild::is_overtaken(Position position, Time now) {
    const KeptChunk &kept = kept_[position];
    if (kept.held || !kept.flying)
        return;
    overtaken_.push_back({.at = now + timeout_.reordering(),
                          .number = kept.last_sending,
                          .position = position,
                          .sendings = kept.sendings});
}

// The chunk is under way. Before it is asked whether another one may go with it.
void RoundChild::fly(KeptChunk &kept) {
    flying_ += kept.flying ? 0 : 1;
    kept.flying = true;
}

// The chunk is under way no more.
void RoundChild::land(KeptChunk &kept) {
    flying_ -= kept.flying ? 1 : 0;
    kept.flying = false;
}

// The oldest chunk needs no room: all members may be waiting for it.
bool RoundChild::may_send_again() const {
    return !lost_.empty() && (lost_.begin()->first == oldest_ || flying_ < congestion_.size());
}

std::optional<RoundChild::Sending> RoundChild::send_again(Time now) {
    find_lost(now);
    if (!may_send_again())
        return {};
    const Position position = lost_.begin()->first;
    lost_.erase(lost_.begin());
    forget_answered();
    fly(kept_[position]);
    const bool last = !may_send_again() && !may_send_next();
    return contribution(position, now, last);
}

// ---- answers ----

Decoded<void> RoundChild::take(std::span<const std::byte> message,
                               std::span<const std::uint64_t> lanes, Time now) {
    const auto handle = [&]() -> Decoded<void> {
        if (OLAF_TRY(decode_type(message)) == OLAF_CONTROL)
            return take_sync(OLAF_TRY(decode_sync(message)), now);
        const RoundResult result = OLAF_TRY(decode_result(message));
        return take_result(result, lanes.first(result.lanes), now);
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
    if (result.misfit) {
        take_misfit(result);
        return {};
    }
    if (!is_of_this_job(result))
        return std::unexpected(Reject::wrong_lanes);
    const auto position = kept_.find(result.round, result.chunk);
    if (failure_ || state_ != State::running || result.generation != generation_ || !position ||
        kept_[*position].held) {
        stats_.unasked++;
        overhear(result, lanes);
        return {};
    }
    if (!is_one_vector(kept_[*position], result))
        return {};
    if (options_.has_checksum && !checksum_matches(lanes)) {
        ask_anew(*position);
        return std::unexpected(Reject::wrong_checksum);
    }
    RoundResult own = result;
    // The node counts a member that abstained as in, but its part isn't in the sum.
    own.late |= kept_[*position].lanes.empty();
    hold(*position, own, lanes, now);
    return {};
}

// The chunk's result was damaged on its way, or a contribution to it was, and all members find the
// same. The node is told at once, which looks at its own lanes. Where damage is the rule, what
// follows waits as for what was lost.
void RoundChild::ask_anew(Position position) {
    KeptChunk &kept = kept_[position];
    if (++kept.spoilt > kSpoiltAtOnce || kept.sendings == 0)
        return;
    land(kept);
    lost_.emplace(position, kept.sendings);
}

// The vector that this member gives to a round, unless it is past, or hasn't been added yet.
std::optional<VectorIdentity> RoundChild::vector_of(std::uint32_t round) const {
    if (const auto kept = kept_.find(round, 0))
        return VectorIdentity{.chunks = kept_[*kept].chunks, .kind = kept_[*kept].kind};
    for (const Waiting &each : waiting_)
        if (each.round == round)
            return VectorIdentity{.chunks = each.farewell ? kFarewellChunks : each.chunks,
                                  .kind = each.kind};
    return {};
}

// Whether this member and the others give the same vector to the result's round. Who has nothing to
// give doesn't say by what the sum is divided, and who skips the round says nothing.
bool RoundChild::is_one_vector(const KeptChunk &kept, const RoundResult &result) {
    if (kept.chunks == result.chunks &&
        (kept.lanes.empty() ? kept.kind == VectorKind{} || adds_up(kept.kind, result.kind)
                            : kept.kind == result.kind))
        return true;
    fail_for_vectors("this member", {.chunks = kept.chunks, .kind = kept.kind},
                     {.chunks = result.chunks, .kind = result.kind}, result.round);
    return false;
}

// Two members give different vectors to a round. So no member can go on, even if it hasn't come to
// that round yet.
void RoundChild::take_misfit(const RoundResult &result) {
    if (failure_ || state_ != State::running || result.generation != generation_) {
        stats_.unasked++;
        return;
    }
    const VectorIdentity one = {.chunks = result.chunks, .kind = result.kind};
    const VectorIdentity &other = *result.misfit;
    const auto mine = vector_of(result.round);
    if (mine == other)
        fail_for_vectors("this member", other, one, result.round);
    else
        fail_for_vectors(mine == one ? "this member" : "one member", one, other, result.round);
}

void RoundChild::fail_for_vectors(const std::string &who, const VectorIdentity &gives,
                                  const VectorIdentity &other, std::uint32_t number) {
    const std::string round = "round " + std::to_string(number);
    const bool ends = gives.chunks == kFarewellChunks;
    if (ends || other.chunks == kFarewellChunks)
        return fail_with((ends ? who : "another one") + " finishes, but " +
                             (ends ? "another one" : who) + " sums a vector in " + round,
                         "all members must finish() after the same vector");
    fail_with(
        "in " + round + " " + who + " gives " + vectors_->describe(gives) + ", and another one " +
            vectors_->describe(other),
        "all members must sum the same number of elements, of the same type, in the same way and "
        "order, and say the same number of workers");
}

// What a chunk's first result teaches. If it comes sooner after a repetition than any result can,
// it answers an earlier sending: that wasn't lost.
void RoundChild::learn_times(const KeptChunk &kept, Time now) {
    const Time turnaround = std::max(now - kept.sent, Time(1));
    const bool is_late = now - kept.sent_last < timeout_.least();
    if (kept.sendings == 1 && (kept.sent >= probed_ || now - probed_ < timeout_.least())) {
        timeout_.measured(turnaround, now);
        congestion_.measured(turnaround);
    } else if (kept.sendings == 1 || (kept.timeouts == 0 && !is_late)) {
        timeout_.at_most(now - kept.sent_last);
    } else if (kept.timeouts > 0) {
        timeout_.ambiguous();
    }
    if (kept.sendings <= kept.timeouts + 1) // it was never overtaken
        return;
    if (!is_late)
        return timeout_.was_lost();
    timeout_.was_not_lost();
    congestion_.not_lost();
}

// Pieces that were cut when the way was proven may get lost later, where a device on the way was
// changed: its offloads, or the mode of the node's queue. Then chunk after chunk has its sum only
// once it was sent again, alone. Where another member is late, only the first chunk has.
void RoundChild::learn_gso(const KeptChunk &kept) {
    if (kept.sendings == 1)
        lost_in_pieces_ = 0;
    else if (kept.timeouts > 0 && ++lost_in_pieces_ >= kLostInPieces)
        gso_ = false;
}

// A node gives each member all results, also of rounds that the member hasn't reached. A wrong
// result that was believed here would make this member skip rounds in vain.
void RoundChild::overhear(const RoundResult &result, std::span<const std::uint64_t> lanes) {
    if (failure_ || state_ != State::running || result.generation != generation_ ||
        result.chunks == kFarewellChunks || olaf_is_before(result.round, next_round_) ||
        (options_.has_checksum && !checksum_matches(lanes)))
        return;
    const bool is_known = newest_round_ && !olaf_is_before(*newest_round_, result.round);
    const auto data = data_of(lanes);
    // The round's last chunk, or the one that spares it. Chunks that are still being summed then
    // are summed without this member.
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
    const auto data = data_of(lanes);
    const bool spares = kept.leads() && vectors_->spares(result, data, kept.lag);
    kept.held = true;
    if (kept.sendings > 0) {
        learn_times(kept, now);
        learn_gso(kept);
    }
    // A chunk that is missing for longer than a round trip may turn out to be lost.
    congestion_.taken(position < limited_ && next_ - oldest_ < 2 * congestion_.size());
    land(kept);
    all_there_ = false;
    last_result_ = now;
    learn_order(position, now);
    uneven_ = result.partial || result.late || result.count < options_.workers;
    if (!kept.delivered) {
        kept.delivered = true;
        last_progress_ = now;
        stats_.results++;
        stats_.partial += result.partial ? 1 : 0;
        stats_.late += result.late ? 1 : 0;
        kept.told = result.exponent;
        kept.spares = kept.brought = spares;
        stats_.spared += spares ? 1 : 0;
        if (!kept.leads() || spares)
            note_sum(kept, result, data);
        vectors_->take(result, data);
        if (spares)
            spare(position + kept.lag);
    } else if (kept.sum) {
        if (kept.sum != print_of(result, data))
            return fail_for_sum(kept, "isn't");
    } else if (kept.leads() && kept.told &&
               (result.exponent != kept.told || spares != kept.spares)) {
        if (spares && has_sum(position + kept.lag))
            return fail_for_sum(kept_[position + kept.lag], "isn't");
        agree_anew(position, result, data, spares);
        if (kept.brought)
            note_sum(kept, result, data);
    }
    settle_follower(position);
    move_on();
    drop_old();
}

// docs/rounds.md, "One sum for all". A farewell's sum is nobody's.
void RoundChild::note_sum(KeptChunk &kept, const RoundResult &result,
                          std::span<const std::uint64_t> data) {
    if (kept.chunks != kFarewellChunks && !vectors_->sums_stand_alone())
        kept.sum = print_of(result, data);
}

// Whether a sum was handed on with that chunk's own result.
bool RoundChild::has_sum(Position position) const {
    return position < kept_.end() && kept_[position].sum;
}

// All began anew, and other members contributed to the chunk than before.
void RoundChild::fail_for_sum(const KeptChunk &kept, const char *is) {
    fail_with(
        "the sum of chunk " + std::to_string(kept.chunk) + " of round " +
            std::to_string(kept.round) + " that this member was given " + is +
            " the one that other members have: all began anew meanwhile, and others are in it",
        "go back to the same step at every worker");
}

// Whether the sum of the chunk `lag` later wasn't handed on yet.
bool RoundChild::lacks_follower(Position position) const {
    const KeptChunk &kept = kept_[position];
    const Position follower = position + kept.lag;
    return !kept.brought && !(follower < kept_.end() && kept_[follower].delivered);
}

// The chunk's result is another one than in an earlier generation: members came or went, or a
// deadline left others out. All pack the chunk that follows by this one. It wasn't sent in this
// generation: that waits for this result.
void RoundChild::agree_anew(Position position, const RoundResult &result,
                            std::span<const std::uint64_t> data, bool spares) {
    KeptChunk &kept = kept_[position];
    const Position follower = position + kept.lag;
    const bool was_spared = std::exchange(kept.spares, spares);
    kept.told = result.exponent;
    if (lacks_follower(position)) {
        vectors_->take_anew(result, data);
        kept.brought = spares;
        stats_.spared += spares ? 1 : 0;
    }
    if (spares)
        return spare(follower);
    if (was_spared)
        send_after_all(follower);
    if (follower < kept_.end())
        pack_follower(position);
}

// The chunk was agreed on anew, and nobody tells this member by which exponent. So it gives nothing
// to the chunk that follows, and asks for its sum if something follows from that.
void RoundChild::forget_exponent(Position position) {
    KeptChunk &kept = kept_[position];
    const Position follower = position + kept.lag;
    const bool lacks = lacks_follower(position);
    kept.told.reset();
    kept.spares = false;
    if (lacks)
        vectors_->miss_anew(kept.round, kept.chunk);
    if (lacks ? vectors_->spares_missed(kept.round) : 2 * kept.lag >= kept.chunks - kept.chunk)
        spare(follower);
    else if (follower < kept_.end())
        kept_[follower].lanes.clear(); // a probe
}

// What is spared is held once the chunk that it follows is.
void RoundChild::settle_follower(Position position) {
    const KeptChunk &kept = kept_[position];
    const Position follower = position + kept.lag;
    if (kept.leads() && follower < kept_.end() && kept_[follower].spared)
        kept_[follower].held = true;
}

// Moves past chunks that are held, or were delivered.
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
    KeptChunk &kept = kept_[*position];
    kept.held = true;
    land(kept);
    uneven_ = true;
    if (!kept.delivered) {
        kept.delivered = true;
        stats_.missed++;
        timeout_.over();
        last_progress_ = std::max(last_progress_, last_heard_);
        vectors_->miss(stale.round, stale.chunk);
        if (kept.leads() && vectors_->spares_missed(stale.round)) {
            stats_.spared++;
            spare(*position + kept.lag);
        }
    } else if (kept.sum) {
        fail_for_sum(kept, "may not be");
    } else if (kept.leads() && kept.told) {
        if (has_sum(*position + kept.lag))
            fail_for_sum(kept_[*position + kept.lag], "may not be");
        else
            forget_exponent(*position);
    }
    settle_follower(*position);
    move_on();
    drop_old();
    return {};
}

} // namespace olaf
