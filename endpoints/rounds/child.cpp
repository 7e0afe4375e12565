// SPDX-License-Identifier: BSD-2-Clause
#include "endpoints/rounds/child.hpp"

#include <algorithm>

#include <olaf/rounds.h>
#include <olaf/try.hpp>

namespace olaf {
namespace {

// How often all may be told to begin at a chunk that this member doesn't keep any more. Once can
// be the fault of a message that was under way for long.
constexpr unsigned kTooOld = 3;

// Half of what is sent is long. If one in five is lost each way, one proof in ten million fails for
// that.
constexpr unsigned kShortAnswers = 16;

} // namespace

// ---- vectors, and what is sent of them ----

std::uint32_t RoundChild::add(std::uint32_t chunks, std::uint32_t lag, std::int64_t generated_ns) {
    waiting_.push_back({.round = next_round_,
                        .chunks = chunks,
                        .lag = lag,
                        .next = 0,
                        .generated_ns = generated_ns});
    next_round_++;
    forget_newest();
    return waiting_.back().round;
}

std::uint32_t RoundChild::add_farewell(std::int64_t generated_ns) {
    const std::uint32_t round = add(1, 0, generated_ns);
    waiting_.back().farewell = true;
    return round;
}

// They are kept as probes: if all begin anew before them, that is how this member goes over them.
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

// docs/rounds.md, "The window". Precondition: has_next().
bool RoundChild::has_room() const {
    if (next_ - oldest_ >= window() || flying_ >= congestion_.size())
        return false;
    const std::uint32_t chunk = next_ < kept_.end() ? kept_[next_].chunk : waiting_.front().next;
    const Position before = last_in_slot_[slot_of(chunk)];
    return before == kNowhere || kept_.is_held(before);
}

bool RoundChild::may_send_next() const {
    if (!has_next() || !has_room())
        return false;
    const bool kept = next_ < kept_.end();
    // Whoever holds a farewell's result knows that all hold all sums, and so does a server that was
    // restarted and had to hear some of them again.
    if (oldest_ != next_ &&
        (kept ? kept_[next_].chunks == kFarewellChunks : waiting_.front().farewell))
        return false;
    const std::uint32_t chunk = kept ? kept_[next_].chunk : waiting_.front().next;
    const std::uint32_t lag = kept ? kept_[next_].lag : waiting_.front().lag;
    return chunk < lag || lag == 0 || kept_.is_held(next_ - lag);
}

// The next chunk that was never sent.
void RoundChild::pack_next() {
    Waiting &vector = waiting_.front();
    KeptChunk &kept = kept_.append({.round = vector.round,
                                    .chunk = vector.next,
                                    .chunks = vector.farewell ? kFarewellChunks : vector.chunks,
                                    .lag = vector.lag,
                                    .generated_ns = vector.generated_ns},
                                   options_.lanes);
    const auto data = std::span(kept.lanes).first(options_.lanes - (options_.has_checksum ? 1 : 0));
    const auto exponent = vectors_->contribute(kept.round, kept.chunk, data);
    kept.exponent = exponent.value_or(0);
    if (!exponent)
        kept.lanes.clear(); // a probe
    else if (options_.has_checksum)
        kept.lanes.back() = checksum(data);
    if (++vector.next == vector.chunks)
        waiting_.pop_front();
    pass_spared();
}

// Precondition: the chunk wasn't packed, as the one that spares it wasn't taken. So its vector is
// the one that is being packed.
void RoundChild::spare(std::uint32_t chunk) {
    Waiting &vector = waiting_.front();
    vector.spared.resize(vector.chunks);
    vector.spared[chunk] = true;
    stats_.spared++;
    pass_spared();
}

// What needn't be packed is kept as held. It lies in no slot, as it is never sent.
void RoundChild::pass_spared() {
    while (!waiting_.empty() && !waiting_.front().spared.empty() &&
           waiting_.front().spared[waiting_.front().next]) {
        Waiting &vector = waiting_.front();
        kept_.append({.round = vector.round,
                      .chunk = vector.next,
                      .chunks = vector.chunks,
                      .held = true,
                      .delivered = true,
                      .spared = true},
                     0);
        if (++vector.next == vector.chunks)
            waiting_.pop_front();
    }
    move_on();
}

// A probe's frame brings its own answer or nothing, so no result of others may count on it.
RoundChild::Sending RoundChild::contribution(Position position, Time now, bool flush) {
    KeptChunk &kept = kept_[position];
    kept.sendings++;
    (kept.sendings == 1 ? stats_.sent : stats_.repeated)++;
    if (kept.sendings == 1)
        kept.sent = now;
    flying_ += kept.flying ? 0 : 1;
    kept.flying = true;
    if (flying_ >= congestion_.size())
        limited_ = next_;
    due_.push({.at = now + timeout_.after(kept.sendings),
               .position = position,
               .sendings = kept.sendings});
    return {.header =
                encode(RoundContribution{.job = options_.job,
                                         .rank = options_.rank,
                                         .round = kept.round,
                                         .generated_ns = kept.generated_ns,
                                         .chunk = kept.chunk,
                                         .chunks = kept.chunks,
                                         .generation = generation_,
                                         .exponent = kept.exponent,
                                         .lanes = static_cast<std::uint16_t>(kept.lanes.size()),
                                         .format = options_.format,
                                         .has_checksum = options_.has_checksum,
                                         .flush = flush || kept.lanes.empty()}),
            .lanes = kept.lanes};
}

RoundChild::Sending RoundChild::send_next(Time now) {
    const Position position = next_;
    if (position == kept_.end())
        pack_next();
    last_in_slot_[slot_of(kept_[position].chunk)] = position;
    next_++;
    move_on();
    return contribution(position, now, must_flush());
}

// Results ride on what is sent, and each lets another chunk be sent. So the line goes on by itself
// while the window moves; but some frames find nothing to carry, and once a window is often enough
// to make up for them. Where sums are without somebody, more results are owed than frames come:
// then who waits for nothing but results always says so.
bool RoundChild::must_flush() {
    if (may_send_next())
        return false;
    if (!uneven_ && has_next() && !has_room() && next_ - flushed_ < at_once())
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
    if (may_send_next() || may_send_again())
        return Time(0);
    // What was answered meanwhile wakes too early at worst.
    const Time due = due_.empty() ? kNever : due_.top().at;
    return proof_ ? std::min(due, proof_->at) : due;
}

// No member can be further behind than what is kept (docs/rounds.md, "The window").
void RoundChild::drop_old() {
    while (kept_.begin() < std::min(oldest_, lacking_) &&
           kept_.end() - kept_.begin() > most_kept_ + kept_.spared())
        kept_.drop();
}

// ---- what is sent again ----

// Answered meanwhile, or sent again.
bool RoundChild::is_void(Position position, unsigned sendings) const {
    return kept_.is_held(position) || kept_[position].sendings != sendings;
}

void RoundChild::forget_answered() {
    while (!due_.empty() && is_void(due_.top().position, due_.top().sendings))
        due_.pop();
    while (!lost_.empty() && is_void(lost_.begin()->first, lost_.begin()->second))
        lost_.erase(lost_.begin());
}

// What is sent later is answered later. So where nothing later was answered, the node or another
// member is late. If something comes then, but not this one, it was lost after all.
bool RoundChild::is_known_lost(const DueChunk &due) const {
    return due.position < newest_ || (due.put_off > Time(0) && due.put_off < last_heard_);
}

// While nobody knows whether what is overdue was lost, one repetition asks for all: that of the
// oldest.
void RoundChild::find_lost(Time now) {
    for (forget_answered(); !due_.empty() && due_.top().at <= now; forget_answered()) {
        const DueChunk due = due_.top();
        const bool is_known = is_known_lost(due);
        if (!is_known && due.position != oldest_) {
            due_.put_off(now, now + timeout_.after(due.sendings));
            continue;
        }
        due_.pop();
        land(kept_[due.position]);
        lost_.emplace(due.position, due.sendings);
        if (is_known)
            congestion_.lost(due.position, next_);
    }
}

// It is under way no more.
void RoundChild::land(KeptChunk &kept) {
    flying_ -= kept.flying ? 1 : 0;
    kept.flying = false;
}

// The oldest needs no room: everybody may be waiting for it.
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

// ---- agreeing where to begin: docs/rounds.md, "Agreeing where to begin" ----

void RoundChild::ask() {
    state_ = State::asking;
    newest_round_.reset(); // all may begin at an older one
    starting_ = false;
    wait_.reset();
    const Place place = first_lacking();
    sync_ = {.action = joins_ ? OLAF_CONTROL_JOIN : OLAF_CONTROL_SYNC,
             .job = options_.job,
             .rank = options_.rank,
             .round = place.round,
             .chunk = place.chunk,
             .stamp = sync_.stamp,
             .generation = generation_,
             .pool = options_.pool};
    asked_ = 0;
    ask_at_ = Time(0);
    stats_.agreed++;
}

void RoundChild::leave() {
    if (state_ == State::strange || failure_) {
        state_ = State::left; // nobody knows of it
        return;
    }
    ask();
    sync_.action = OLAF_CONTROL_LEAVE;
}

bool RoundChild::ask_who_is_missing() {
    if (sync_.action != OLAF_CONTROL_SYNC && state_ != State::running)
        return false;
    if (failure_ || state_ == State::strange || (state_ == State::running && is_idle()))
        return false;
    if (state_ == State::running)
        ask();
    return !wait_;
}

std::optional<RoundChild::Sending> RoundChild::send_sync(Time now, std::int64_t tai_ns) {
    if (now < ask_at_)
        return {};
    if (asked_ == 0) // a new question; stamps only grow, whatever the clock does
        sync_.stamp = std::max(tai_ns, sync_.stamp + 1);
    asked_++;
    ask_at_ = now + std::min(timeout_.after(asked_), kAskAtLeastEvery);
    return Sending{.header = encode(sync_), .lanes = {}};
}

RoundChild::Place RoundChild::first_lacking() const {
    if (lacking_ < kept_.end())
        return {.round = kept_[lacking_].round, .chunk = kept_[lacking_].chunk};
    if (!waiting_.empty())
        return {.round = waiting_.front().round, .chunk = waiting_.front().next};
    return {.round = next_round_, .chunk = 0};
}

std::optional<RoundChild::Position> RoundChild::position_of(Place place) const {
    if (const auto kept = kept_.find(place.round, place.chunk))
        return kept;
    const Place lacking = first_lacking();
    if (lacking_ == kept_.end() && place.round == lacking.round && place.chunk == lacking.chunk)
        return kept_.end();
    return {};
}

Decoded<void> RoundChild::take_sync(const JobSync &answer, Time now) {
    if (!answer.answer)
        return std::unexpected(Reject::wrong_type);
    if (answer.job != options_.job)
        return std::unexpected(Reject::unknown_cluster);
    if (answer.status != OLAF_CONTROL_WAIT && answer.rank != options_.rank)
        return std::unexpected(Reject::not_addressed);
    last_heard_ = std::max(last_heard_, now);
    take_proof(answer, now);
    if (answer.status == OLAF_CONTROL_GONE && answer.action == OLAF_CONTROL_LEAVE && !failure_ &&
        state_ == State::running && answer.generation == generation_) {
        take_gone();
        return {};
    }
    if (failure_ || state_ != State::asking || asked_ == 0 || answer.action != sync_.action ||
        answer.stamp != sync_.stamp) {
        stats_.unasked++;
        return {};
    }
    if (!has_shape(answer))
        return {};
    switch (answer.status) {
    case OLAF_CONTROL_WAIT:
        if (!wait_ || wait_->missing != answer.missing || wait_->rank != answer.rank ||
            wait_->above != answer.above)
            last_progress_ = now;
        wait_ = answer;
        break;
    case OLAF_CONTROL_OLD: // the job was stopped again since this was asked
        ask();
        break;
    case OLAF_CONTROL_GONE:
        take_gone();
        break;
    case OLAF_CONTROL_DONE:
        last_progress_ = now;
        if (answer.action == OLAF_CONTROL_LEAVE)
            state_ = State::left;
        else if (answer.action == OLAF_CONTROL_JOIN)
            begin_joined(answer);
        else
            begin_at(answer);
        break;
    default:
        break;
    }
    return {};
}

// Has the job the shape of this member's contributions, as far as the answer says? Where it hasn't,
// no contribution would ever be added.
bool RoundChild::has_shape(const JobSync &answer) {
    if (answer.lanes == 0)
        return true;
    const bool same =
        answer.format == options_.format && answer.has_checksum == options_.has_checksum;
    if (same && options_.adapts && kept_.end() == 0 && waiting_.empty())
        options_.lanes = answer.lanes;
    if (same && answer.lanes == options_.lanes)
        return true;
    const auto text = [](std::uint16_t lanes, Format format, bool has_checksum) {
        return std::to_string(lanes) + " lanes of " + std::string(name(format)) +
               (has_checksum ? " with a checksum" : " without a checksum");
    };
    fail_with("its contributions have " + text(answer.lanes, answer.format, answer.has_checksum) +
                  ", and this worker's have " +
                  text(options_.lanes, options_.format, options_.has_checksum),
              "let all workers and olaf job set say the same");
    return false;
}

// The others are in the middle of their rounds. This one begins with the first that is its own.
void RoundChild::begin_joined(const JobSync &answer) {
    joins_ = false;
    first_round_ = next_round_ = answer.round;
    begin_at(answer);
}

// The others sum without it: it was silent for too long, or somebody took it out.
void RoundChild::take_gone() {
    fail_with(
        "this worker is no member of it any more, and the others go on without it: it left, was "
        "silent for longer than the queue's --member-timeout, or was taken out",
        "join() it if the others go on; if all workers called leave() in place of finish(), set "
        "the "
        "job anew (olaf job set)");
}

void RoundChild::begin_at(const JobSync &answer) {
    const Place lacking = first_lacking();
    auto begin = position_of({.round = answer.round, .chunk = answer.chunk});
    // What is before its first round is the others' alone.
    if (!begin && kept_.begin() == 0 && olaf_is_before(answer.round, first_round_))
        begin = kept_.begin();
    if (answer.generation == 0 || answer.pool > options_.pool || !begin || *begin > lacking_) {
        if (++too_old_ < kTooOld)
            return ask();
        return fail_with("all are to begin at chunk " + std::to_string(answer.chunk) +
                             " of round " + std::to_string(answer.round) +
                             ", but this member is at chunk " + std::to_string(lacking.chunk) +
                             " of round " + std::to_string(lacking.round) +
                             ": a member began anew in the middle",
                         "begin anew with all members");
    }
    too_old_ = 0;
    state_ = State::running;
    generation_ = answer.generation;
    pool_ = answer.pool;
    most_kept_ = std::max(most_kept_, 2 * window());
    last_in_slot_.assign(window(), kNowhere);
    due_ = {};
    lost_.clear();
    flying_ = limited_ = 0;
    congestion_.begin_anew();
    next_ = oldest_ = flushed_ = newest_ = *begin;
    for (Position position = kept_.begin(); position < kept_.end(); position++) {
        // Nobody needs what is before, nor what nobody sends.
        kept_[position].held = position < *begin || kept_[position].spared;
        kept_[position].sendings = 0;
        kept_[position].flying = false;
        kept_[position].taken = Time(0);
    }
    move_on();
}

void RoundChild::fail_with(std::string reason, std::string hint) {
    failure_ = Error{.operation = "sum vectors of",
                     .object = job_name(),
                     .code = 0,
                     .reason = std::move(reason),
                     .hint = std::move(hint)};
}

// ---- docs/rounds.md, "The way to the node" ----

void RoundChild::prove_way() {
    proof_.emplace();
}

bool RoundChild::is_way_too_narrow() const {
    return proof_ && proof_->short_answers >= kShortAnswers;
}

// The last question once more: its answer changes nothing. The first one is long.
std::optional<RoundChild::Sending> RoundChild::send_proof(Time now) {
    if (!proof_ || now < proof_->at)
        return {};
    JobSync question = sync_;
    if (proof_->sent++ % 2 == 0)
        question.padding = options_.lanes;
    proof_->padding.resize(question.padding);
    proof_->at = now + std::min(timeout_.after(proof_->sent), kAskAtLeastEvery);
    return Sending{.header = encode(question), .lanes = proof_->padding};
}

// Short ones may answer what was asked before.
void RoundChild::take_proof(const JobSync &answer, Time now) {
    if (!proof_ || answer.action != sync_.action || answer.stamp != sync_.stamp)
        return;
    if (answer.padding == options_.lanes) {
        proof_.reset();
        last_progress_ = now;
    } else if (proof_->sent > 0) {
        proof_->short_answers++;
    }
}

// ---- what is missing, in words ----

std::string RoundChild::unasked() const {
    if (wait_->missing == 0)
        return "all members of this node have asked where to begin, but not all of other nodes";
    const std::string who =
        "rank " + std::to_string(wait_->rank) + (wait_->above ? " of a node above" : "");
    return who + " hasn't asked where to begin yet" +
           (wait_->missing > 1
                ? ", nor have " + std::to_string(wait_->missing - 1) + " other members"
                : "");
}

// A node tells who is missing among its own members. Once they have all asked it asks its parent,
// and answers none of them until that one does.
std::string RoundChild::unanswered(Time now) const {
    return silence(now) +
           (wait_ ? ", since when all of its members may have asked: then its parent is silent"
                  : "; or its parent, if it has one, is silent");
}

std::string RoundChild::lacked() const {
    if (lacking_ < kept_.end() && kept_[lacking_].chunks == kFarewellChunks)
        return "another member's farewell";
    const Place place = first_lacking();
    return "the sum of chunk " + std::to_string(place.chunk) + " of round " +
           std::to_string(place.round);
}

std::string RoundChild::silence(Time now) const {
    if (last_heard_ <= Time(0))
        return "the node hasn't answered at all";
    const auto silent = std::chrono::duration_cast<std::chrono::milliseconds>(now - last_heard_);
    return "the node has been silent for " + std::to_string(silent.count()) + " ms";
}

std::string RoundChild::missing(Time now) const {
    if (failure_)
        return failure_->reason;
    if (state_ == State::running && proof_)
        return silence(now);
    if (state_ == State::strange || (state_ == State::running && is_idle()))
        return "nothing";
    if (state_ == State::asking && sync_.action == OLAF_CONTROL_JOIN)
        return last_heard_ > Time(0) ? "the members' next round, in which this one may join"
                                     : unanswered(now);
    const bool answers = last_heard_ > Time(0) && now - last_heard_ < std::chrono::seconds(1);
    std::string who = answers ? "" : silence(now);
    if (state_ == State::asking && wait_)
        who = answers ? unasked() : unasked() + ", by the node's last answer; " + unanswered(now);
    else if (state_ == State::asking && !answers)
        who = unanswered(now);
    else if (answers)
        who = "the node answers, so a member is missing";
    return is_idle() ? who : lacked() + "; " + who;
}

} // namespace olaf
