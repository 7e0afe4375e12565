// SPDX-License-Identifier: BSD-2-Clause
#include <olaf/message.hpp>

#include "wire_header.hpp"

namespace olaf {
Decoded<olaf_message_type> decode_type(std::span<const std::byte> message) {
    olaf_header header;
    if (message.size() < sizeof(header))
        return std::unexpected(Reject::too_short);
    std::memcpy(&header, message.data(), sizeof(header));
    if (big_endian(header.magic_be) != OLAF_MAGIC)
        return std::unexpected(Reject::wrong_magic);
    if (header.version != OLAF_VERSION)
        return std::unexpected(Reject::wrong_version);
    if (header.type < OLAF_UPDATE || header.type > OLAF_RESULT)
        return std::unexpected(Reject::wrong_type);
    const std::size_t lanes = big_endian(header.lanes_be);
    if (lanes > OLAF_MAX_LANES || message.size() != message_size(lanes))
        return std::unexpected(Reject::wrong_length);
    return static_cast<olaf_message_type>(header.type);
}

Decoded<Update> decode_update(std::span<const std::byte> message) {
    const auto header = header_of(message, OLAF_UPDATE);
    if (!header)
        return std::unexpected(header.error());
    const std::uint16_t flags = big_endian(header->flags_be);
    const Update update = {
        .cluster = big_endian(header->cluster_be),
        .worker = big_endian(header->worker_be),
        .sequence = big_endian(header->sequence_be),
        .count = big_endian(header->count_be),
        .generated_ns = static_cast<std::int64_t>(big_endian(header->generated_ns_be)),
        .reward = static_cast<std::int64_t>(big_endian(header->reward_be)),
        .model_version = big_endian(header->model_version_be),
        .segment = big_endian(header->segment_be),
        .segments = big_endian(header->segments_be),
        .lanes = big_endian(header->lanes_be),
        .format = format_of(flags),
        .has_checksum = (flags & OLAF_FLAG_CHECKSUM) != 0,
    };
    // Sums of f32x2 lanes mean nothing here.
    if (update.format != Format::i32x2 && update.format != Format::i16x4 &&
        update.format != Format::i64x1)
        return std::unexpected(Reject::wrong_format);
    if (update.count == 0)
        return std::unexpected(Reject::wrong_count);
    if (update.segment >= update.segments)
        return std::unexpected(Reject::wrong_segment);
    if (update.lanes < (update.has_checksum ? 2 : 1))
        return std::unexpected(Reject::wrong_lanes);
    return update;
}

Decoded<Ack> decode_ack(std::span<const std::byte> message) {
    const auto header = header_of(message, OLAF_ACK);
    if (!header)
        return std::unexpected(header.error());
    const std::uint16_t flags = big_endian(header->flags_be);
    const Ack ack = {
        .cluster = big_endian(header->cluster_be),
        .worker = big_endian(header->worker_be),
        .sequence = big_endian(header->sequence_be),
        .generated_ns = static_cast<std::int64_t>(big_endian(header->generated_ns_be)),
        .active_clusters = big_endian(header->active_clusters_be),
        .queue_capacity = big_endian(header->queue_capacity_be),
        .queue_length = big_endian(header->queue_length_be),
        .model_version = big_endian(header->model_version_be),
        .segment = big_endian(header->segment_be),
        .segments = big_endian(header->segments_be),
        .lanes = big_endian(header->lanes_be),
        .has_checksum = (flags & OLAF_FLAG_CHECKSUM) != 0,
        .stamped = (flags & OLAF_FLAG_STAMPED) != 0,
        .congested = (flags & OLAF_FLAG_CONGESTED) != 0,
    };
    if (ack.lanes > 0 && format_of(flags) != Format::f32x2)
        return std::unexpected(Reject::wrong_format);
    if (ack.segment >= ack.segments)
        return std::unexpected(Reject::wrong_segment);
    if (ack.has_checksum && ack.lanes < 2)
        return std::unexpected(Reject::wrong_lanes);
    return ack;
}

Decoded<Join> decode_join(std::span<const std::byte> message) {
    const auto header = header_of(message, OLAF_CONTROL);
    if (!header)
        return std::unexpected(header.error());
    if (big_endian(header->count_be) != kControlJoin)
        return std::unexpected(Reject::wrong_type);
    return Join{
        .cluster = big_endian(header->cluster_be),
        .worker = big_endian(header->worker_be),
        .sequence = big_endian(header->sequence_be),
        .generated_ns = static_cast<std::int64_t>(big_endian(header->generated_ns_be)),
    };
}

} // namespace olaf
