// SPDX-License-Identifier: BSD-2-Clause
// The model's messages to bytes and back.
#pragma once

#include <algorithm>
#include <cstring>
#include <optional>

#include <endian.h>

#include "endpoints/wire/round_message.hpp"
#include "round_message.hpp"

namespace olaf::model {

struct RoundShape {
    std::uint32_t job = 0;
    Format format = Format::i32x2;
    bool has_checksum = true;
    std::uint16_t lanes = 0; ///< that answers tell; 0: they don't
};

inline std::vector<std::byte> to_bytes(const olaf_header &header,
                                       std::span<const std::uint64_t> lanes) {
    std::vector<std::byte> bytes(message_size(lanes.size()));
    std::memcpy(bytes.data(), &header, sizeof(header));
    if (!lanes.empty())
        std::memcpy(bytes.data() + sizeof(header), lanes.data(), lanes.size_bytes());
    return bytes;
}

/// The answer to a SYNC, or to JOIN and LEAVE.
inline std::vector<std::byte> answer_bytes(const RoundShape &shape, const RoundMessage &message) {
    const bool of_sync = message.kind == RoundMessage::Kind::sync_answer;
    const JobSync answer{.action = of_sync ? OLAF_CONTROL_SYNC
                                           : static_cast<olaf_control_action>(message.action),
                       .job = shape.job,
                       .rank = message.rank,
                       .round = message.round,
                       .chunk = message.chunk,
                       .stamp = message.time,
                       .missing = message.missing,
                       .lanes = shape.lanes,
                       .format = shape.format,
                       .has_checksum = shape.has_checksum,
                       .generation = message.generation,
                       .status = static_cast<olaf_control_status>(message.status),
                       .pool = message.pool,
                       .answer = true,
                       .above = message.above,
                       .session = message.session,
                       .run = {.training = message.run.training, .number = message.run.number},
                       .anew = message.anew,
                       .padding = message.padding};
    return to_bytes(encode(answer), lanes_of(answer));
}

inline VectorKind kind_of(std::uint32_t vector) {
    return {.workers = static_cast<std::uint16_t>(vector >> 16),
            .content = static_cast<olaf_content>(vector >> OLAF_CONTENT_SHIFT & 7),
            .last = static_cast<std::uint16_t>(vector & OLAF_CONTENT_ELEMENTS_MASK)};
}

inline std::uint32_t vector_of(const VectorKind &kind) {
    return std::uint32_t{kind.workers} << 16 | kind.content << OLAF_CONTENT_SHIFT | kind.last;
}

inline std::optional<std::uint64_t> misfit_of(const std::optional<VectorIdentity> &vector) {
    if (!vector)
        return {};
    return std::uint64_t{vector->chunks} << 32 | vector_of(vector->kind);
}

inline std::optional<VectorIdentity> misfit_of(const RoundMessage &message) {
    if (!message.misfit)
        return {};
    return VectorIdentity{.chunks = static_cast<std::uint32_t>(*message.misfit >> 32),
                          .kind = kind_of(static_cast<std::uint32_t>(*message.misfit))};
}

/// What a node sends to a child.
inline std::vector<std::byte> to_bytes(const RoundShape &shape, const RoundMessage &message) {
    if (message.kind == RoundMessage::Kind::sync_answer ||
        message.kind == RoundMessage::Kind::order_answer)
        return answer_bytes(shape, message);
    return to_bytes(encode(RoundResult{.job = shape.job,
                                       .rank = message.rank,
                                       .round = message.round,
                                       .count = message.count,
                                       .generated_ns = message.time,
                                       .chunk = message.chunk,
                                       .chunks = message.chunks,
                                       .kind = kind_of(message.vector),
                                       .generation = message.generation,
                                       .exponent = message.exponent,
                                       .pool = message.pool,
                                       .lanes = static_cast<std::uint16_t>(message.lanes.size()),
                                       .format = shape.format,
                                       .has_checksum = shape.has_checksum,
                                       .partial = message.partial,
                                       .late = message.late,
                                       .stale = message.stale,
                                       .misfit = misfit_of(message)}),
                    message.lanes);
}

/// What a child sends; nothing if it's no message of a job.
inline std::optional<RoundMessage> from_bytes(std::span<const std::byte> bytes) {
    if (const auto sync = decode_sync(bytes); sync && !sync->answer)
        return RoundMessage{.kind = sync->action == OLAF_CONTROL_SYNC ? RoundMessage::Kind::sync
                                                                       : RoundMessage::Kind::order,
                            .rank = sync->rank,
                            .round = sync->round,
                            .chunk = sync->chunk,
                            .generation = sync->generation,
                            .time = sync->stamp,
                            .pool = sync->pool,
                            .action = static_cast<RoundMessage::Action>(sync->action),
                            .padding = sync->padding,
                            .incarnation = sync->incarnation,
                            .session = sync->session,
                            .run = {.training = sync->run.training, .number = sync->run.number},
                            .anew = sync->anew};
    const auto contribution = decode_contribution(bytes);
    if (!contribution)
        return {};
    RoundMessage message = {.kind = RoundMessage::Kind::contribution,
                            .rank = contribution->rank,
                            .round = contribution->round,
                            .count = contribution->count,
                            .chunk = contribution->chunk,
                            .chunks = contribution->chunks,
                            .vector = vector_of(contribution->kind),
                            .generation = contribution->generation,
                            .time = contribution->generated_ns,
                            .exponent = contribution->exponent,
                            .partial = contribution->partial,
                            .flush = contribution->flush,
                            .spoilt = contribution->spoilt};
    message.lanes.resize(contribution->lanes);
    if (contribution->lanes > 0)
        std::memcpy(message.lanes.data(), bytes.data() + sizeof(olaf_header),
                    8 * message.lanes.size());
    return message;
}

} // namespace olaf::model
