// SPDX-License-Identifier: BSD-2-Clause
#include "endpoints/rounds/root.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include <olaf/try.hpp>

#include "endpoints/rounds/run.hpp"

namespace olaf {
namespace {

bool is_of(const RoundTotal &total, const RoundContribution &message) {
    return total.round == message.round && total.chunk == message.chunk;
}

bool is_before(const RoundContribution &message, const RoundTotal &total) {
    return olaf_chunk_is_before(message.round, message.chunk, total.round, total.chunk);
}

} // namespace

RoundRoot::RoundRoot(const RoundServerOptions &options, std::uint32_t generation,
                     RoundRootUser &user, const olaf_run &only)
    : options_(options), user_(&user), generation_(generation), pool_(options.pool), only_(only),
      slots_(std::size_t{1} << options.pool) {}

// ---- docs/rounds.md, "What a node does with a contribution" ----

Decoded<void> RoundRoot::check(const RoundContribution &message,
                               std::span<const std::uint64_t> lanes) const {
    if (message.job != options_.job)
        return std::unexpected(Reject::unknown_cluster);
    if (message.rank >= options_.children)
        return std::unexpected(Reject::not_addressed);
    if (message.count > options_.workers)
        return std::unexpected(Reject::wrong_count);
    if (message.lanes == 0)
        return {};
    if (message.lanes != options_.lanes || message.format != options_.format ||
        message.has_checksum != options_.checksum)
        return std::unexpected(Reject::wrong_lanes);
    if (options_.checksum && checksum(lanes.first(lanes.size() - 1)) != lanes.back())
        return std::unexpected(Reject::wrong_checksum);
    return {};
}

Decoded<void> RoundRoot::contribution(const RoundContribution &message,
                                      std::span<const std::uint64_t> lanes, Time now) {
    OLAF_TRY(check(message, lanes));
    stats_.received += message.lanes == 0 ? 0 : 1;
    if (!running_ || message.generation != generation_) {
        stale(message);
        return {};
    }
    if (!user_->admit(message.rank))
        return std::unexpected(Reject::not_addressed);
    heard_[message.rank] = now;
    if (misfit_) {
        result(message.rank, *misfit_, {});
        return {};
    }
    Slot &slot = slots_[message.chunk & (slots_.size() - 1)];
    for (Buffer &buffer : slot.buffers)
        if (buffer.state != State::free && is_of(buffer.total, message)) {
            if (buffer.total.count + message.count > options_.workers &&
                buffer.state == State::open && !buffer.in[message.rank])
                return std::unexpected(Reject::wrong_count);
            in_buffer(buffer, slot, message, lanes);
            return {};
        }
    in_no_buffer(slot, message, lanes);
    return {};
}

void RoundRoot::in_no_buffer(Slot &slot, const RoundContribution &message,
                             std::span<const std::uint64_t> lanes) {
    // Answered once, and not kept any more: the rule must not see it again.
    if (std::ranges::all_of(slot.answers, [&](const Answer &answer) {
            return answer.given && is_before(message, answer.total);
        }))
        return stale(message);
    Buffer *place = nullptr;
    for (Buffer &buffer : slot.buffers) {
        const bool free = buffer.state == State::free;
        if (!free && is_before(message, buffer.total))
            return stale(message);
        if (buffer.state == State::open)
            continue;
        if (place == nullptr || free ||
            (place->state != State::free &&
             olaf_chunk_is_before(buffer.total.round, buffer.total.chunk, place->total.round,
                                  place->total.chunk)))
            place = &buffer;
    }
    if (place == nullptr || message.lanes == 0)
        return; // ahead, or a probe of a chunk that isn't open yet: the child sends it again
    place->state = State::open;
    place->total = {.round = message.round,
                    .chunk = message.chunk,
                    .chunks = message.chunks,
                    .kind = message.kind};
    place->in.reset();
    place->lanes.assign(options_.lanes, 0);
    in_buffer(*place, slot, message, lanes);
}

void RoundRoot::in_buffer(Buffer &buffer, Slot &slot, const RoundContribution &message,
                          std::span<const std::uint64_t> lanes) {
    if (buffer.state == State::done) {
        stats_.repeated += message.lanes == 0 ? 0 : 1;
        return result(message.rank, buffer.total, buffer.lanes);
    }
    const bool abstains = message.lanes == 0 && message.partial;
    if (message.lanes == 0 && !abstains)
        return;
    if (buffer.in[message.rank]) {
        stats_.repeated += abstains ? 0 : 1;
        return;
    }
    RoundTotal &total = buffer.total;
    buffer.in.set(message.rank);
    total.partial |= message.partial;
    if (!abstains) {
        if (!is_one_vector(total, message))
            return answer_all(buffer);
        total.count += message.count;
        total.generated_ns = std::max(total.generated_ns, message.generated_ns);
        total.exponent = std::max(total.exponent, message.exponent);
        for (std::size_t i = 0; i < buffer.lanes.size(); i++)
            buffer.lanes[i] += lanes[i];
    }
    if (buffer.in.count() == options_.children)
        complete(buffer, slot);
}

// Whether the contribution's vector is that of whoever opened the buffer, and of the weights.
bool RoundRoot::is_one_vector(RoundTotal &total, const RoundContribution &message) {
    if (message.misfit) {
        total.chunks = message.chunks;
        total.kind = message.kind;
        total.misfit = message.misfit;
    } else if (message.chunks != total.chunks || message.kind != total.kind) {
        total.misfit = VectorIdentity{.chunks = message.chunks, .kind = message.kind};
    } else if (message.chunks != kFarewellChunks) {
        total.misfit = user_->wants({.chunks = message.chunks, .kind = message.kind});
    }
    if (!total.misfit)
        return true;
    total.count = std::max(total.count, 1U);
    misfit_ = total;
    return false;
}

void RoundRoot::complete(Buffer &buffer, Slot &slot) {
    RoundTotal &total = buffer.total;
    const auto earlier = std::ranges::find_if(slot.answers, [&](const Answer &answer) {
        return answer.given && answer.total.round == total.round &&
               answer.total.chunk == total.chunk;
    });
    if (earlier != slot.answers.end()) {
        stats_.again++;
        total = earlier->total;
        buffer.lanes = earlier->lanes;
    } else {
        const auto data =
            std::span(buffer.lanes).first(options_.lanes - (options_.checksum ? 1 : 0));
        buffer.state = State::free; // if this throws, all send it again
        user_->answer(total, data);
        if (options_.checksum)
            buffer.lanes.back() = checksum(data);
        stats_.answered++;
        has_answered_ = true;
        std::swap(slot.answers[0], slot.answers[1]);
        slot.answers[1] = {.given = true, .total = total, .lanes = buffer.lanes};
    }
    // All have all sums and begin no further vector.
    if (total.chunks == kFarewellChunks && total.count == options_.workers && !total.partial)
        finished_ = true;
    answer_all(buffer);
}

void RoundRoot::answer_all(Buffer &buffer) {
    buffer.state = State::done;
    for (std::uint32_t rank = 0; rank < options_.children; rank++)
        result(rank, buffer.total, buffer.lanes);
}

void RoundRoot::result(std::uint32_t rank, const RoundTotal &total,
                       std::span<const std::uint64_t> lanes) {
    user_->send(rank,
                encode(RoundResult{.job = options_.job,
                                   .rank = rank,
                                   .round = total.round,
                                   .count = total.count,
                                   .generated_ns = total.generated_ns,
                                   .chunk = total.chunk,
                                   .chunks = total.chunks,
                                   .kind = total.kind,
                                   .generation = generation_,
                                   .exponent = total.exponent,
                                   .pool = pool_,
                                   .lanes = static_cast<std::uint16_t>(lanes.size()),
                                   .format = options_.format,
                                   .has_checksum = options_.checksum,
                                   .partial = total.partial,
                                   .misfit = total.misfit}),
                lanes);
}

// Who is of an earlier run is told so, too: the rank is another process's by then. Whoever isn't
// where the rank is doesn't hear the generation.
void RoundRoot::stale(const RoundContribution &message) {
    stats_.stale += message.lanes == 0 ? 0 : 1;
    user_->reply(message.rank,
                 encode(RoundResult{.job = options_.job,
                                    .rank = message.rank,
                                    .round = message.round,
                                    .count = message.generation,
                                    .chunk = message.chunk,
                                    .chunks = message.chunks,
                                    .generation = user_->knows(message.rank) ? generation_ : 0,
                                    .pool = pool_,
                                    .format = options_.format,
                                    .has_checksum = false,
                                    .stale = true}),
                 {});
}

// ---- docs/rounds.md, "Runs" ----

olaf_run_verdict RoundRoot::verdict(const olaf_run &asks) const {
    const olaf_run has = finished_ ? olaf_run{} : run_;
    return olaf_run_judge(&has, &only_, &asks);
}

bool RoundRoot::may_ask(const olaf_run &run, Time now) const {
    switch (verdict(run)) {
    case OLAF_RUN_SAME:
    case OLAF_RUN_TAKES:
        return true;
    case OLAF_RUN_OTHER:
        for (std::uint32_t rank = 0; rank < options_.children; rank++)
            if (is_there(rank, now))
                return false;
        return true;
    default:
        return false;
    }
}

bool RoundRoot::is_there(std::uint32_t rank, Time now) const {
    return heard_[rank] && now - *heard_[rank] < options_.run_timeout;
}

void RoundRoot::begin_run(const olaf_run &run) {
    stop();
    run_ = run;
    finished_ = false;
    heard_ = {};
    children_ = {};
    session_ = 0;
    replaced_.reset();
    forget_answers();
    user_->begin_run();
}

void RoundRoot::forget_answers() {
    has_answered_ = false;
    for (Slot &slot : slots_)
        slot.answers = {};
}

void RoundRoot::refuse(const JobSync &message, Time now) {
    JobSync answer = answer_to(message, OLAF_CONTROL_OTHER);
    const olaf_run_verdict why = verdict(message.run);
    const bool is_set = why == OLAF_RUN_BARRED;
    answer.run = olaf_run_told(why, &run_, &only_, &message.run);
    answer.generation = 0;
    answer.missing = 0;
    answer.rank = OLAF_EVERY_RANK;
    Time last(0);
    for (std::uint32_t rank = 0; rank < options_.children && !is_set; rank++) {
        if (!is_there(rank, now))
            continue;
        last = std::max(last, *heard_[rank] + options_.run_timeout - now);
        answer.rank = answer.missing++ == 0 ? rank : answer.rank;
    }
    answer.session = static_cast<std::uint64_t>(last.count());
    user_->reply(message.rank, encode(answer), lanes_of(answer));
}

// ---- docs/rounds.md, "Agreeing where to begin" ----

void RoundRoot::stop() {
    running_ = false;
    generation_ += generation_ == UINT32_MAX ? 2 : 1;
    asked_.reset();
    begin_.reset();
    culprit_.reset();
    misfit_.reset();
    pool_ = options_.pool;
    for (Slot &slot : slots_)
        for (Buffer &buffer : slot.buffers)
            buffer.state = State::free;
}

Decoded<void> RoundRoot::sync(const JobSync &message, Time now) {
    if (message.answer || message.action != OLAF_CONTROL_SYNC) // its members neither join nor leave
        return std::unexpected(Reject::wrong_type);
    if (message.job != options_.job)
        return std::unexpected(Reject::unknown_cluster);
    if (message.rank >= options_.children)
        return std::unexpected(Reject::not_addressed);
    if (message.padding != kSyncLanes &&
        message.padding != std::max(kSyncLanes, static_cast<std::uint16_t>(options_.lanes)))
        return std::unexpected(Reject::wrong_lanes);
    if (!may_ask(message.run, now)) {
        refuse(message, now);
        return {};
    }
    if (!is_one_run(run_, message.run))
        begin_run(message.run);
    if (!user_->admit(message.rank))
        return std::unexpected(Reject::not_addressed);
    heard_[message.rank] = now;
    answer_sync(message, judge(message));
    return {};
}

olaf_control_status RoundRoot::judge(const JobSync &message) {
    const std::int64_t stamp = children_[message.rank].stamp;
    if (message.stamp > stamp)
        note(message);
    else if (message.stamp < stamp || !asked_[message.rank])
        return OLAF_CONTROL_OLD;
    if (!running_ && asked_.count() == options_.children && !is_over())
        run();
    if (running_)
        return OLAF_CONTROL_DONE;
    if (is_lost(message.rank)) {
        culprit_ = replaced_;
        return OLAF_CONTROL_OVER;
    }
    const bool all = asked_.count() == options_.children;
    return all && children_[message.rank].session != 0 ? OLAF_CONTROL_OVER : OLAF_CONTROL_WAIT;
}

// Not all have asked. Whether the session of this rank is over all the same.
bool RoundRoot::is_lost(std::uint32_t rank) const {
    return replaced_ && asked_.count() < options_.children && session_ != 0 &&
           children_[rank].session == session_;
}

// A new question.
void RoundRoot::note(const JobSync &message) {
    if (running_)
        stop();
    finished_ = false;
    asked_.set(message.rank);
    const std::uint64_t known = children_[message.rank].incarnation;
    if (session_ != 0 && message.session == 0 && !replaced_ && known != 0 &&
        known != message.incarnation)
        replaced_ = message.rank;
    children_[message.rank] = {.stamp = message.stamp,
                               .incarnation = message.incarnation,
                               .session = message.session,
                               .anew = message.session == 0 || message.anew};
    if (children_[message.rank].anew && !culprit_)
        culprit_ = message.rank;
    if (!begin_ ||
        olaf_chunk_is_before(message.round, message.chunk, begin_->first, begin_->second))
        begin_ = {message.round, message.chunk};
    pool_ = std::min(pool_, message.pool);
}

// Whether the members, who have all asked, can't go on with each other: one of them has begun anew.
bool RoundRoot::is_over() const {
    const auto children = std::span(children_).first(options_.children);
    std::uint64_t sum = 0, session = 0;
    bool anew = false;
    for (const Asked &child : children) {
        if (session != 0 && child.session != 0 && child.session != session)
            return true;
        session = child.session != 0 ? child.session : session;
        sum += child.incarnation;
        anew |= child.anew;
    }
    return session != 0 && anew && sum != session;
}

void RoundRoot::run() {
    const std::uint64_t before = std::exchange(session_, 0);
    for (const Asked &child : std::span(children_).first(options_.children))
        session_ = child.session != 0 ? child.session : session_;
    if (session_ == 0)
        for (const Asked &child : std::span(children_).first(options_.children))
            session_ += child.incarnation;
    session_ = std::max<std::uint64_t>(session_, 1);
    if (session_ != before) // its first round is 0 again
        forget_answers();
    // Neither a restarted server nor another run's knows the answers of the round's first chunks.
    if (!has_answered_)
        begin_->second = 0;
    replaced_.reset();
    running_ = true;
    stats_.agreed++;
}

JobSync RoundRoot::answer_to(const JobSync &message, olaf_control_status status) const {
    JobSync answer = message;
    answer.answer = true;
    answer.status = status;
    answer.generation = generation_;
    answer.pool = pool_;
    answer.lanes = options_.lanes;
    answer.format = options_.format;
    answer.has_checksum = options_.checksum;
    answer.incarnation = 0;
    answer.session = 0;
    answer.run = run_;
    answer.anew = false;
    return answer;
}

void RoundRoot::answer_sync(const JobSync &message, olaf_control_status status) {
    JobSync answer = answer_to(message, status);
    if (status == OLAF_CONTROL_DONE)
        answer.session = session_;
    if (status == OLAF_CONTROL_OLD)
        answer.session = static_cast<std::uint64_t>(children_[message.rank].stamp);
    if (status == OLAF_CONTROL_DONE)
        std::tie(answer.round, answer.chunk) = *begin_;
    if (status == OLAF_CONTROL_WAIT || status == OLAF_CONTROL_OVER)
        name_other(answer);
    user_->send(message.rank, encode(answer), lanes_of(answer));
}

// Who hasn't asked, or, if all have, who must begin anew (WAIT); who has (OVER).
void RoundRoot::name_other(JobSync &answer) const {
    const auto lowest = [&](auto &&is_it) {
        for (std::uint32_t rank = 0; rank < options_.children; rank++)
            if (is_it(rank))
                return rank;
        return std::uint32_t{OLAF_EVERY_RANK};
    };
    answer.missing = options_.children - static_cast<std::uint32_t>(asked_.count());
    answer.anew = answer.missing == 0 && answer.status == OLAF_CONTROL_WAIT;
    if (answer.status == OLAF_CONTROL_OVER) {
        answer.missing = 0;
        answer.rank = culprit_.value_or(OLAF_EVERY_RANK);
    } else if (answer.missing > 0) {
        answer.rank = lowest([&](std::uint32_t rank) { return !asked_[rank]; });
    } else {
        const auto has_session = [](const Asked &child) { return child.session != 0; };
        answer.missing = static_cast<std::uint32_t>(
            std::ranges::count_if(std::span(children_).first(options_.children), has_session));
        answer.rank = lowest([&](std::uint32_t rank) { return has_session(children_[rank]); });
    }
}

} // namespace olaf
