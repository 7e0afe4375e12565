// SPDX-License-Identifier: BSD-2-Clause
#include "round_child.hpp"

#include <algorithm>

#include <olaf/rounds.h>

namespace olaf {

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

// A node tells who is missing among its own members. Once they have all asked it asks its parent, and
// answers none of them until that one does.
std::string RoundChild::unanswered(Time now) const {
    return silence(now) + (wait_ ? ", since when all of its members may have asked: then its parent is silent"
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
