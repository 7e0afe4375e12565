// SPDX-License-Identifier: BSD-2-Clause
// docs/rounds.md, "Agreeing where to begin".
#include <algorithm>

#include "round_child.hpp"

namespace olaf {
namespace {

constexpr auto kAskAtMostEvery = std::chrono::milliseconds(50);
// How often all may be told to begin at a chunk that this member doesn't keep any more. Once can
// be the fault of a message that was under way for long.
constexpr unsigned kTooOld = 3;

} // namespace

void RoundChild::ask() {
    newest_round_.reset(); // all may begin at an older one
    state_ = State::asking;
    joining_ = false;
    wait_.reset();
    const Place place = first_lacking();
    sync_ = {.job = options_.job,
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

bool RoundChild::ask_who_is_missing() {
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
    ask_at_ = now + std::min<Time>(timeout_.after(asked_), kAskAtMostEvery);
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
    if (failure_ || state_ != State::asking || asked_ == 0 || answer.stamp != sync_.stamp) {
        stats_.unasked++;
        return {};
    }
    switch (answer.status) {
    case OLAF_CONTROL_WAIT:
        if (!wait_ || wait_->missing != answer.missing || wait_->rank != answer.rank)
            last_progress_ = now;
        wait_ = answer;
        break;
    case OLAF_CONTROL_OLD: // the job was stopped again since this was asked
        ask();
        break;
    case OLAF_CONTROL_DONE:
        last_progress_ = now;
        begin_at(answer);
        break;
    }
    return {};
}

void RoundChild::begin_at(const JobSync &answer) {
    const Place lacking = first_lacking();
    const auto begin = position_of({.round = answer.round, .chunk = answer.chunk});
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
    next_ = oldest_ = flushed_ = *begin;
    for (Position position = kept_.begin(); position < kept_.end(); position++) {
        kept_[position].held = position < *begin; // nobody needs what is before
        kept_[position].sendings = 0;
        kept_[position].taken = Time(0);
    }
}

void RoundChild::fail_with(std::string reason, std::string hint) {
    failure_ = Error{.operation = "sum vectors of",
                     .object = job_name(),
                     .code = 0,
                     .reason = std::move(reason),
                     .hint = std::move(hint)};
}

} // namespace olaf
