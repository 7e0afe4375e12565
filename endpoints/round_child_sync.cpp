// SPDX-License-Identifier: BSD-2-Clause
// docs/rounds.md, "Agreeing where to begin".
#include <algorithm>

#include <olaf/rounds.h>

#include "round_child.hpp"

namespace olaf {
namespace {

// How often all may be told to begin at a chunk that this member doesn't keep any more. Once can
// be the fault of a message that was under way for long.
constexpr unsigned kTooOld = 3;

} // namespace

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
    stats_.asked++;
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
    fail_with("this worker is no member of it any more, and the others go on without it: it left, was "
              "silent for longer than the queue's --member-timeout, or was taken out",
              "join() it if the others go on; if all workers called leave() in place of finish(), set the "
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

} // namespace olaf
