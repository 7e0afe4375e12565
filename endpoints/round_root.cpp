// SPDX-License-Identifier: BSD-2-Clause
// docs/rounds.md, "What a node does with a contribution".
#include "round_root.hpp"

#include <algorithm>

#include "round_child.hpp"

namespace olaf {
namespace {

bool is_of(const RoundTotal &total, const RoundContribution &message) {
    return total.round == message.round && total.chunk == message.chunk;
}

// Rounds wrap.
bool is_before(const RoundTotal &total, std::uint32_t round, std::uint32_t chunk) {
    return total.round == round ? total.chunk < chunk
                                : static_cast<std::int32_t>(total.round - round) < 0;
}

} // namespace

RoundRoot::RoundRoot(const RoundServerOptions &options, std::uint32_t generation,
                     RoundRootUser &user)
    : options_(options), user_(&user), generation_(generation), pool_(options.pool),
      slots_(std::size_t{1} << options.pool) {}

Decoded<void> RoundRoot::check(const RoundContribution &message,
                               std::span<const std::uint64_t> lanes) const {
    if (message.job != options_.job)
        return std::unexpected(Reject::unknown_cluster);
    if (message.rank >= options_.children)
        return std::unexpected(Reject::not_addressed);
    if (message.chunks != kFarewellChunks && !user_->takes(message.chunks))
        return std::unexpected(Reject::wrong_segment);
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
                                      std::span<const std::uint64_t> lanes) {
    if (auto good = check(message, lanes); !good)
        return good;
    stats_.received += message.lanes == 0 ? 0 : 1;
    if (!running_ || message.generation != generation_) {
        stale(message);
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
    Buffer *place = nullptr;
    for (Buffer &buffer : slot.buffers) {
        const bool free = buffer.state == State::free;
        if (!free && !is_before(buffer.total, message.round, message.chunk))
            return stale(message);
        if (buffer.state == State::open)
            continue;
        if (place == nullptr || free ||
            (place->state != State::free &&
             is_before(buffer.total, place->total.round, place->total.chunk)))
            place = &buffer;
    }
    if (place == nullptr || message.lanes == 0)
        return; // ahead, or a probe of what isn't there yet: it comes again
    place->state = State::open;
    place->total = {.round = message.round, .chunk = message.chunk, .chunks = message.chunks};
    place->in.reset();
    place->lanes.assign(options_.lanes, 0);
    in_buffer(*place, slot, message, lanes);
}

void RoundRoot::in_buffer(Buffer &buffer, Slot &slot, const RoundContribution &message,
                          std::span<const std::uint64_t> lanes) {
    if (buffer.state == State::done) {
        stats_.repeated += message.lanes == 0 ? 0 : 1;
        return result(message.rank, buffer);
    }
    if (message.lanes == 0)
        return;
    if (buffer.in[message.rank]) {
        stats_.repeated++;
        return;
    }
    RoundTotal &total = buffer.total;
    buffer.in.set(message.rank);
    total.count += message.count;
    total.generated_ns = std::max(total.generated_ns, message.generated_ns);
    total.exponent = std::max(total.exponent, message.exponent);
    total.partial |= message.partial;
    for (std::size_t i = 0; i < buffer.lanes.size(); i++)
        buffer.lanes[i] += lanes[i];
    if (buffer.in.count() == options_.children)
        complete(buffer, slot);
}

void RoundRoot::complete(Buffer &buffer, Slot &slot) {
    RoundTotal &total = buffer.total;
    // Workers send the same again, made at the same time. A new worker's first round is another.
    const auto earlier = std::ranges::find_if(slot.answers, [&](const Answer &answer) {
        return answer.given && answer.total.round == total.round &&
               answer.total.chunk == total.chunk && answer.total.generated_ns == total.generated_ns;
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
        std::swap(slot.answers[0], slot.answers[1]);
        slot.answers[1] = {.given = true, .total = total, .lanes = buffer.lanes};
    }
    buffer.state = State::done;
    for (std::uint32_t rank = 0; rank < options_.children; rank++)
        result(rank, buffer);
}

void RoundRoot::result(std::uint32_t rank, const Buffer &buffer) {
    const RoundTotal &total = buffer.total;
    user_->send(rank,
                encode(RoundResult{.job = options_.job,
                                   .rank = rank,
                                   .round = total.round,
                                   .count = total.count,
                                   .generated_ns = total.generated_ns,
                                   .chunk = total.chunk,
                                   .chunks = total.chunks,
                                   .generation = generation_,
                                   .exponent = total.exponent,
                                   .pool = pool_,
                                   .lanes = options_.lanes,
                                   .format = options_.format,
                                   .has_checksum = options_.checksum,
                                   .partial = total.partial}),
                buffer.lanes);
}

void RoundRoot::stale(const RoundContribution &message) {
    stats_.stale += message.lanes == 0 ? 0 : 1;
    user_->send(message.rank,
                encode(RoundResult{.job = options_.job,
                                   .rank = message.rank,
                                   .round = message.round,
                                   .count = message.generation,
                                   .chunk = message.chunk,
                                   .chunks = message.chunks,
                                   .generation = generation_,
                                   .pool = pool_,
                                   .format = options_.format,
                                   .has_checksum = false,
                                   .stale = true}),
                {});
}

} // namespace olaf
