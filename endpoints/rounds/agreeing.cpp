// SPDX-License-Identifier: BSD-2-Clause
// RoundChild, as far as it agrees with the other members where to begin (docs/rounds.md), and says
// what it waits for.
#include "endpoints/rounds/child.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include <olaf/rounds.h>

#include "endpoints/rounds/run.hpp"

namespace olaf {
namespace {

// How often a node may tell all members to begin at a chunk that this member doesn't keep any more.
// An old SYNC that was under way for long can cause that once.
constexpr unsigned kTooOld = 3;

// Every second question is long. Where each way loses one frame in five, this many short answers
// without a long one come once in ten million proofs.
constexpr unsigned kShortAnswers = 16;

// How many of the first questions leave in pairs. Where pieces get lost, the proof takes as many
// waits longer.
constexpr unsigned kPairs = 2;

} // namespace

// ---- agreeing where to begin: docs/rounds.md, "Agreeing where to begin" ----

void RoundChild::ask() {
    state_ = State::asking;
    newest_round_.reset(); // all may begin at an older one
    starting_ = false;
    wait_.reset();
    if (proof_)
        proof_.emplace(); // a WAIT that answers this question says nothing of the way
    // Who isn't told the generation in which it is to leave must ask first: a node that was
    // restarted doesn't know it.
    const bool leaves = leaves_ && told_generation_ != 0;
    const Place place =
        leaves ? Place{.round = next_round_, .chunk = 0} : place_of(first_lacking());
    sync_ = {.action = leaves   ? OLAF_CONTROL_LEAVE
                       : joins_ ? OLAF_CONTROL_JOIN
                                : OLAF_CONTROL_SYNC,
             .job = options_.job,
             .rank = options_.rank,
             .round = place.round,
             .chunk = place.chunk,
             .stamp = sync_.stamp,
             .generation = leaves || joins_ ? told_generation_ : generation_,
             .pool = options_.pool,
             .incarnation = options_.incarnation,
             .session = session_,
             .run = options_.run};
    asked_ = 0;
    ask_at_ = asked_at_ + kAskAtMostEvery;
    stats_.agreed++;
}

void RoundChild::move(std::uint32_t job, std::uint32_t rank) {
    options_.job = job;
    options_.rank = rank;
    // Results and answers of the old tree are of another job. The new node was told of no
    // generation.
    generation_ = told_generation_ = 0;
    too_old_ = 0;
    gso_ = false; // the way to the new node isn't proven
    if ((state_ == State::asking || state_ == State::running) && !failure_)
        ask();
}

void RoundChild::move(std::uint32_t job, std::uint32_t rank, std::uint32_t round) {
    first_round_ = next_round_ = round;
    session_ = 0;
    move(job, rank);
}

void RoundChild::leave() {
    if (state_ == State::strange || failure_) {
        state_ = State::left; // never a member, or none any more
        return;
    }
    leaves_ = true;
    ask();
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
    asked_at_ = now;
    ask_at_ = now + until_next_question(asked_);
    return question(0);
}

// The question, of so many lanes at least.
RoundChild::Sending RoundChild::question(std::uint16_t lanes) {
    JobSync asked = sync_;
    asked.padding = lanes;
    // Another question may not be sent yet: its lanes, the same ones, stay where they are.
    JobSync longest = sync_;
    longest.padding = long_lanes();
    if (auto all = lanes_of(longest); all != sync_lanes_)
        sync_lanes_ = std::move(all);
    return {.header = encode(asked), .lanes = std::span(sync_lanes_).first(lanes_of(asked).size())};
}

// An exponent that is to be agreed on anew is lacking, too: the others may be told another one.
RoundChild::Position RoundChild::first_lacking() const {
    Position position = std::max(kept_.begin(), oldest_);
    while (position < lacking_ && !kept_[position].is_open_again())
        position++;
    return std::min(position, lacking_);
}

RoundChild::Place RoundChild::place_of(Position position) const {
    if (position < kept_.end())
        return {.round = kept_[position].round, .chunk = kept_[position].chunk};
    if (!waiting_.empty())
        return {.round = waiting_.front().round, .chunk = waiting_.front().next};
    return {.round = next_round_, .chunk = 0};
}

std::optional<RoundChild::Position> RoundChild::position_of(Place place) const {
    if (const auto kept = kept_.find(place.round, place.chunk))
        return kept;
    const Place next = place_of(kept_.end());
    if (first_lacking() == kept_.end() && place.round == next.round && place.chunk == next.chunk)
        return kept_.end();
    return {};
}

Decoded<void> RoundChild::take_sync(const JobSync &answer, Time now) {
    if (!answer.answer)
        return std::unexpected(Reject::wrong_type);
    if (answer.job != options_.job)
        return std::unexpected(Reject::unknown_cluster);
    const bool names_other = answer.status == OLAF_CONTROL_WAIT ||
                             answer.status == OLAF_CONTROL_OVER ||
                             answer.status == OLAF_CONTROL_OTHER;
    if (!names_other && answer.rank != options_.rank)
        return std::unexpected(Reject::not_addressed);
    last_heard_ = std::max(last_heard_, now);
    if (answer.generation != 0)
        told_generation_ = answer.generation;
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
    if (leaves_ && take_before_leaving(answer))
        return {};
    switch (answer.status) {
    case OLAF_CONTROL_WAIT:
        note_missing(answer, now);
        wait_ = answer;
        break;
    case OLAF_CONTROL_OLD: // the job was stopped again since, or this rank has asked by a later
                           // clock; or it is of another generation than a JOIN or LEAVE names
        sync_.stamp = std::max(sync_.stamp, answer.newest_stamp());
        told_generation_ = answer.generation;
        ask();
        break;
    case OLAF_CONTROL_GONE:
        take_gone();
        break;
    case OLAF_CONTROL_OVER:
        take_over(answer);
        break;
    case OLAF_CONTROL_OTHER:
        take_other(answer);
        break;
    case OLAF_CONTROL_DONE:
        all_there_ = generation_ != 0;
        if (!all_there_)
            last_progress_ = now;
        if (answer.action != OLAF_CONTROL_LEAVE)
            session_ = answer.session;
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

// A member that is to leave has only asked so that the node knows it, and tells the generation.
// Whether that was all there is to the answer.
bool RoundChild::take_before_leaving(const JobSync &answer) {
    if (answer.action == OLAF_CONTROL_LEAVE || answer.generation == 0)
        return false;
    if (answer.status == OLAF_CONTROL_GONE)
        state_ = State::left;
    else
        ask();
    return true;
}

// Until all have agreed for the first time, each member that comes is progress, once. After that
// only a sum is: members can agree again and again without any.
void RoundChild::note_missing(const JobSync &wait, Time now) {
    std::uint32_t &least = least_missing_[2 * std::size_t{wait.above} + std::size_t{wait.anew}];
    if (generation_ != 0 || wait.missing >= least)
        return;
    least = wait.missing;
    last_progress_ = now;
}

// Whether the job has the shape of this member's contributions, as far as the answer tells. The
// node never adds contributions of another shape.
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

// The other members are in the middle of their rounds. This one begins with its own first round.
void RoundChild::begin_joined(const JobSync &answer) {
    joins_ = false;
    first_round_ = next_round_ = answer.round;
    begin_at(answer);
}

// The node says GONE: the other members sum without this one.
void RoundChild::take_gone() {
    fail_with(
        "this worker is no member of it any more, and the others go on without it: it left, was "
        "silent for longer than the queue's --member-timeout, or was taken out",
        "join() it if the others go on; if all workers called leave() in place of finish(), set "
        "the job anew (olaf job remove, olaf job set)");
}

// Who lacks nothing but the farewell's result can't miss anything where the others can't go on with
// it: it never learns whether all have finished.
bool RoundChild::needs_nothing() {
    if (!waiting_.empty() || lacking_ + 1 != kept_.end() ||
        kept_[lacking_].chunks != kFarewellChunks)
        return false;
    KeptChunk &farewell = kept_[lacking_];
    farewell.held = farewell.delivered = true;
    vectors_->miss(farewell.round, farewell.chunk);
    state_ = State::left;
    return true;
}

// Another member has none of this session's vectors.
void RoundChild::take_over(const JobSync &answer) {
    if (needs_nothing())
        return;
    // It has given no vector yet: it is as if it had asked later.
    if (next_round_ == 0) {
        session_ = 0;
        return ask();
    }
    const std::string who = answer.rank < OLAF_RANKS ? "rank " + std::to_string(answer.rank) +
                                                           (answer.above ? " of a node above" : "")
                                                     : "another member";
    fail_with(
        who +
            " has begun anew (its process was restarted, or it called start() again), and has none "
            "of the vectors so far",
        "go back to the same step at every worker");
}

// Another run has the job: docs/rounds.md, "Runs".
void RoundChild::take_other(const JobSync &answer) {
    if (needs_nothing())
        return;
    refused_ = !answer.above;
    const olaf_run &own = options_.run, &other = answer.run;
    if (other.training == own.training && other.number > own.number)
        return fail_for_good("a later run of this training (number " +
                                 std::to_string(other.number) + ", this process is of number " +
                                 std::to_string(own.number) + ") has taken the job over",
                             "end this process");
    // Of its own training it is told all, of another one the alias.
    const std::uint64_t alias = olaf_training_alias(own.training);
    const std::string which =
        "another run (" +
        text_of(other.training == own.training ? alias : other.training, other.number) +
        "; this process is of " + text_of(alias, own.number) + ")";
    const std::string where = answer.above ? " of a node above" : "";
    if (answer.missing == 0)
        return fail_for_good("the job" + where + " was set for " + which,
                             "give this training a job of its own, or set the job anew for it "
                             "(olaf job remove, olaf job set --run)");
    const std::uint32_t others = answer.missing - 1;
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(answer.kept_for()).count();
    fail_for_good(
        "the job is in use by " + which + ": rank " + std::to_string(answer.rank) + where +
            (others == 0
                 ? ""
                 : " and " + std::to_string(others) + (others == 1 ? " other" : " others")) +
            ", for " + std::to_string(seconds) + " s more unless they are heard again",
        "give each training a job of its own, or end that one, or release the job (olaf "
        "job release DEV " +
            std::to_string(options_.job) + ")");
}

void RoundChild::begin_at(const JobSync &answer) {
    const Position lacking = first_lacking();
    auto begin = position_of({.round = answer.round, .chunk = answer.chunk});
    // Rounds before its first one are the other members' alone.
    if (!begin && kept_.begin() == 0 && olaf_is_before(answer.round, first_round_))
        begin = kept_.begin();
    if (answer.generation == 0 || answer.pool > options_.pool || !begin || *begin > lacking) {
        if (++too_old_ < kTooOld)
            return ask();
        const Place own = place_of(lacking);
        return fail_with("all are to begin at chunk " + std::to_string(answer.chunk) +
                             " of round " + std::to_string(answer.round) +
                             ", but this member is at chunk " + std::to_string(own.chunk) +
                             " of round " + std::to_string(own.round) +
                             ": a member began anew in the middle, or the others have summed too "
                             "much without one of them",
                         "begin anew with all members");
    }
    too_old_ = 0;
    state_ = State::running;
    generation_ = answer.generation;
    pool_ = answer.pool;
    most_kept_ = std::max(most_kept_, 2 * window());
    last_in_slot_.assign(window(), kNowhere);
    again_.clear();
    overtaken_.clear();
    lost_.clear();
    flying_ = limited_ = 0;
    congestion_.begin_anew();
    next_ = oldest_ = flushed_ = newest_ = passed_ = *begin;
    for (Position position = kept_.begin(); position < kept_.end(); position++) {
        KeptChunk &kept = kept_[position];
        // No member needs chunks before `begin`, nor what these spare.
        kept.held = (kept.spared ? position - kept.lag : position) < *begin;
        kept.sendings = kept.spoilt = kept.timeouts = 0;
        kept.flying = false;
    }
    move_on();
}

// All members can begin anew.
void RoundChild::fail_with(std::string reason, std::string hint) {
    fail_for_good(std::move(reason), std::move(hint) + ", and start() again, at every worker");
}

void RoundChild::fail_for_good(std::string reason, std::string hint) {
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

// Repeats the last SYNC or JOIN, whose answer changes nothing. The first question is long.
std::optional<RoundChild::Sending> RoundChild::send_proof(Time now) {
    if (!proof_ || (now < proof_->at && !proof_->half))
        return {};
    const bool second = std::exchange(proof_->half, false);
    if (!second)
        proof_->at = now + until_next_question(++proof_->sent);
    const bool in_pair = options_.gso && proof_->sent <= kPairs;
    Sending asked = question(in_pair || proof_->sent % 2 == 1 ? long_lanes() : std::uint16_t{0});
    asked.joins = in_pair;
    proof_->half = in_pair && !second;
    return asked;
}

// A short answer may be to a question that was asked before the proof began.
void RoundChild::take_proof(const JobSync &answer, Time now) {
    if (!proof_ || answer.action != sync_.action || answer.stamp != sync_.stamp)
        return;
    if (answer.padding == long_lanes()) {
        // A long answer that comes after a single question may be to that one. A job of so few
        // lanes that all questions are as long has no use for pieces.
        gso_ = options_.gso && proof_->sent <= kPairs && long_lanes() > kSyncLanes;
        lost_in_pieces_ = 0;
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
    if (wait_->anew)
        return who + " must start() again: it was summing with a member that has begun anew since";
    return who + " hasn't asked where to begin yet" +
           (wait_->missing > 1
                ? ", nor have " + std::to_string(wait_->missing - 1) + " other members"
                : "");
}

// A node tells which of its own members is missing. Once all have asked, the node asks its parent,
// and answers none of them until the parent answers.
std::string RoundChild::unanswered(Time now) const {
    return silence(now) +
           (wait_ ? ", since when all of its members may have asked: then its parent is silent"
                  : "; or its parent, if it has one, is silent");
}

std::string RoundChild::lacked() const {
    if (lacking_ < kept_.end() && kept_[lacking_].chunks == kFarewellChunks)
        return "another member's farewell";
    const Place place = place_of(first_lacking());
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
    else if (state_ == State::running && all_there_)
        who = "all members have asked where to begin, and no sum has come since";
    else if (answers)
        who = "the node answers, so a member is missing";
    return is_idle() ? who : lacked() + "; " + who;
}

} // namespace olaf
