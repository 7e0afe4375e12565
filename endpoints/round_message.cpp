// SPDX-License-Identifier: BSD-2-Clause
#include "round_message.hpp"

#include "wire_header.hpp"

namespace olaf {
namespace {

unsigned flag(bool set, unsigned bit) {
    return set ? bit : 0U;
}

template <class Message>
olaf_header header_for(const Message &message, olaf_message_type type, unsigned flags) {
    olaf_header header = header_with(type,
                                     flags | format_flags(message.format) |
                                         flag(message.has_checksum, OLAF_FLAG_CHECKSUM) |
                                         flag(message.partial, OLAF_FLAG_PARTIAL),
                                     message.lanes);
    header.cluster_be = big_endian(message.job);
    header.worker_be = big_endian(message.rank);
    header.sequence_be = big_endian(message.round);
    header.count_be = big_endian(message.count);
    header.generated_ns_be = big_endian<__u64>(static_cast<__u64>(message.generated_ns));
    header.chunk_be = big_endian(message.chunk);
    header.chunks_be = big_endian(message.chunks);
    header.generation_be = big_endian(message.generation);
    header.exponent_be = big_endian(static_cast<std::uint16_t>(message.exponent));
    return header;
}

// What CONTRIBUTION and RESULT have in common.
template <class Message> Message read(const olaf_header &header) {
    const std::uint16_t flags = big_endian(header.flags_be);
    Message message;
    message.job = big_endian(header.cluster_be);
    message.rank = big_endian(header.worker_be);
    message.round = big_endian(header.sequence_be);
    message.count = big_endian(header.count_be);
    message.generated_ns = static_cast<std::int64_t>(big_endian(header.generated_ns_be));
    message.chunk = big_endian(header.chunk_be);
    message.chunks = big_endian(header.chunks_be);
    message.generation = big_endian(header.generation_be);
    message.exponent = static_cast<std::int16_t>(big_endian(header.exponent_be));
    message.lanes = big_endian(header.lanes_be);
    message.format = format_of(flags);
    message.has_checksum = (flags & OLAF_FLAG_CHECKSUM) != 0;
    message.partial = (flags & OLAF_FLAG_PARTIAL) != 0;
    return message;
}

template <class Message> Decoded<Message> checked(const Message &message) {
    if (message.format > Format::f32x2 || (message.format == Format::f32x2 && message.has_checksum))
        return std::unexpected(Reject::wrong_format);
    if (message.count == 0)
        return std::unexpected(Reject::wrong_count);
    if (message.chunk >= message.chunks)
        return std::unexpected(Reject::wrong_segment);
    if (message.lanes == 1 && message.has_checksum)
        return std::unexpected(Reject::wrong_lanes);
    return message;
}

} // namespace

olaf_header encode(const RoundContribution &contribution) {
    return header_for(contribution, OLAF_CONTRIBUTION, flag(contribution.flush, OLAF_FLAG_FLUSH));
}

olaf_header encode(const RoundResult &result) {
    olaf_header header =
        header_for(result, OLAF_RESULT,
                   flag(result.late, OLAF_FLAG_LATE) | flag(result.stale, OLAF_FLAG_STALE));
    header.pool = result.pool;
    return header;
}

olaf_header encode(const JobSync &sync) {
    olaf_header header =
        header_with(OLAF_CONTROL,
                    flag(sync.answer, OLAF_FLAG_ANSWER) | flag(sync.above, OLAF_FLAG_ABOVE),
                    sync.padding);
    header.cluster_be = big_endian(sync.job);
    header.worker_be = big_endian(sync.rank);
    header.sequence_be = big_endian(sync.round);
    header.action_be = big_endian<std::uint32_t>(sync.action);
    header.generated_ns_be = big_endian<__u64>(static_cast<__u64>(sync.stamp));
    header.chunk_be = big_endian(sync.chunk);
    if (sync.answer && sync.status != OLAF_CONTROL_WAIT) {
        header.job_lanes_be = big_endian(sync.lanes);
        header.job_shape_be = big_endian(static_cast<std::uint16_t>(
            sync.lanes == 0 ? 0U
                            : format_flags(sync.format) |
                                  flag(sync.has_checksum, OLAF_FLAG_CHECKSUM)));
    } else {
        header.missing_be = big_endian(sync.missing);
    }
    header.generation_be = big_endian(sync.generation);
    header.status_be = big_endian(static_cast<std::uint16_t>(sync.status));
    header.pool = sync.pool;
    return header;
}

Decoded<RoundContribution> decode_contribution(std::span<const std::byte> message) {
    const auto header = header_of(message, OLAF_CONTRIBUTION);
    if (!header)
        return std::unexpected(header.error());
    auto contribution = read<RoundContribution>(*header);
    contribution.flush = (big_endian(header->flags_be) & OLAF_FLAG_FLUSH) != 0;
    return checked(contribution);
}

Decoded<RoundResult> decode_result(std::span<const std::byte> message) {
    const auto header = header_of(message, OLAF_RESULT);
    if (!header)
        return std::unexpected(header.error());
    auto result = read<RoundResult>(*header);
    const std::uint16_t flags = big_endian(header->flags_be);
    result.late = (flags & OLAF_FLAG_LATE) != 0;
    result.stale = (flags & OLAF_FLAG_STALE) != 0;
    result.pool = header->pool;
    if (result.pool > kMostPool)
        return std::unexpected(Reject::wrong_count);
    if ((result.lanes == 0) != result.stale)
        return std::unexpected(Reject::wrong_lanes);
    if (result.stale) // its count is a generation, its chunk perhaps another vector's
        return result;
    return checked(result);
}

Decoded<JobSync> decode_sync(std::span<const std::byte> message) {
    const auto header = header_of(message, OLAF_CONTROL);
    if (!header)
        return std::unexpected(header.error());
    const std::uint32_t action = big_endian(header->action_be);
    if (action < OLAF_CONTROL_JOIN || action > OLAF_CONTROL_LEAVE)
        return std::unexpected(Reject::wrong_type);
    const std::uint16_t status = big_endian(header->status_be);
    if (status > OLAF_CONTROL_GONE)
        return std::unexpected(Reject::wrong_count);
    if (header->pool > kMostPool)
        return std::unexpected(Reject::wrong_count);
    const bool answer = (big_endian(header->flags_be) & OLAF_FLAG_ANSWER) != 0;
    const bool tells = answer && status != OLAF_CONTROL_WAIT;
    const std::uint16_t shape = tells ? big_endian(header->job_shape_be) : std::uint16_t{0};
    return JobSync{
        .action = static_cast<olaf_control_action>(action),
        .job = big_endian(header->cluster_be),
        .rank = big_endian(header->worker_be),
        .round = big_endian(header->sequence_be),
        .chunk = big_endian(header->chunk_be),
        .stamp = static_cast<std::int64_t>(big_endian(header->generated_ns_be)),
        .missing = tells ? 0 : big_endian(header->missing_be),
        .lanes = tells ? big_endian(header->job_lanes_be) : std::uint16_t{0},
        .format = format_of(shape),
        .has_checksum = (shape & OLAF_FLAG_CHECKSUM) != 0,
        .generation = big_endian(header->generation_be),
        .status = static_cast<olaf_control_status>(status),
        .pool = header->pool,
        .answer = answer,
        .above = (big_endian(header->flags_be) & OLAF_FLAG_ABOVE) != 0,
        .padding = big_endian(header->lanes_be),
    };
}

} // namespace olaf
