// SPDX-License-Identifier: BSD-2-Clause
#include <olaf/message.hpp>

#include <bit>
#include <cmath>
#include <concepts>
#include <cstring>

namespace olaf {
namespace {

// Its own inverse. libc's htonl() family has no 64-bit member.
template <std::unsigned_integral T> constexpr T big_endian(T value) {
    if constexpr (std::endian::native == std::endian::little)
        return std::byteswap(value);
    return value;
}

std::uint16_t format_flags(Format format) {
    return static_cast<std::uint16_t>(static_cast<unsigned>(format) << OLAF_FLAG_FORMAT_SHIFT);
}

Format format_of(std::uint16_t flags) {
    return static_cast<Format>((flags & OLAF_FLAG_FORMAT_MASK) >> OLAF_FLAG_FORMAT_SHIFT);
}

olaf_header prefix(olaf_message_type type, unsigned flags, std::uint16_t lanes) {
    olaf_header header{};
    header.magic_be = big_endian<std::uint16_t>(OLAF_MAGIC);
    header.version = OLAF_VERSION;
    header.type = static_cast<std::uint8_t>(type);
    header.flags_be = big_endian(static_cast<std::uint16_t>(flags));
    header.lanes_be = big_endian(lanes);
    return header;
}

// The header of a message whose prefix is right and whose type is as wanted.
Decoded<olaf_header> header_of(std::span<const std::byte> message, olaf_message_type wanted) {
    const auto type = decode_type(message);
    if (!type)
        return std::unexpected(type.error());
    if (*type != wanted)
        return std::unexpected(Reject::wrong_type);
    olaf_header header;
    std::memcpy(&header, message.data(), sizeof(header));
    return header;
}

} // namespace

olaf_header encode(const Update &update) {
    olaf_header header =
        prefix(OLAF_UPDATE,
               format_flags(update.format) | (update.has_checksum ? OLAF_FLAG_CHECKSUM : 0U) |
                   (update.count > 1 ? OLAF_FLAG_AGGREGATED : 0U),
               update.lanes);
    header.cluster_be = big_endian(update.cluster);
    header.worker_be = big_endian(update.worker);
    header.sequence_be = big_endian(update.sequence);
    header.count_be = big_endian(update.count);
    header.generated_ns_be = big_endian<__u64>(static_cast<__u64>(update.generated_ns));
    header.reward_be = big_endian<__u64>(static_cast<__u64>(update.reward));
    header.model_version_be = big_endian(update.model_version);
    header.segment_be = big_endian(update.segment);
    header.segments_be = big_endian(update.segments);
    return header;
}

olaf_header encode(const Ack &ack) {
    olaf_header header = prefix(
        OLAF_ACK,
        format_flags(Format::f32x2) | (ack.has_checksum ? OLAF_FLAG_CHECKSUM : 0U) |
            (ack.stamped ? OLAF_FLAG_STAMPED : 0U) | (ack.congested ? OLAF_FLAG_CONGESTED : 0U),
        ack.lanes);
    header.cluster_be = big_endian(ack.cluster);
    header.worker_be = big_endian(ack.worker);
    header.sequence_be = big_endian(ack.sequence);
    header.active_clusters_be = big_endian(ack.active_clusters);
    header.generated_ns_be = big_endian<__u64>(static_cast<__u64>(ack.generated_ns));
    header.queue_capacity_be = big_endian(ack.queue_capacity);
    header.queue_length_be = big_endian(ack.queue_length);
    header.model_version_be = big_endian(ack.model_version);
    header.segment_be = big_endian(ack.segment);
    header.segments_be = big_endian(ack.segments);
    return header;
}

olaf_header encode(const Join &join) {
    olaf_header header = prefix(OLAF_CONTROL, 0, 0);
    header.cluster_be = big_endian(join.cluster);
    header.worker_be = big_endian(join.worker);
    header.sequence_be = big_endian(join.sequence);
    header.count_be = big_endian(kControlJoin);
    header.generated_ns_be = big_endian<__u64>(static_cast<__u64>(join.generated_ns));
    header.segments_be = big_endian<std::uint16_t>(1);
    return header;
}

Decoded<olaf_message_type> decode_type(std::span<const std::byte> message) {
    olaf_header header;
    if (message.size() < sizeof(header))
        return std::unexpected(Reject::too_short);
    std::memcpy(&header, message.data(), sizeof(header));
    if (big_endian(header.magic_be) != OLAF_MAGIC)
        return std::unexpected(Reject::wrong_magic);
    if (header.version != OLAF_VERSION)
        return std::unexpected(Reject::wrong_version);
    if (header.type < OLAF_UPDATE || header.type > OLAF_CONTROL)
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

bool checksum_matches(std::span<const std::uint64_t> lanes) {
    return !lanes.empty() && checksum(lanes.first(lanes.size() - 1)) == lanes.back();
}

std::int64_t to_reward(double reward, std::uint32_t max_count) {
    // A power of two below INT64_MAX / max_count: exact as a double.
    const auto limit =
        static_cast<double>(std::bit_floor(static_cast<std::uint64_t>(INT64_MAX) / max_count));
    const double steps = std::nearbyint(std::ldexp(reward, OLAF_REWARD_FRACTION_BITS));
    if (!(steps > -limit)) // NaN too
        return -static_cast<std::int64_t>(limit);
    return static_cast<std::int64_t>(steps < limit ? steps : limit);
}

double mean_reward(std::int64_t sum, std::uint32_t count) {
    return std::ldexp(static_cast<double>(sum), -OLAF_REWARD_FRACTION_BITS) / count;
}

} // namespace olaf
