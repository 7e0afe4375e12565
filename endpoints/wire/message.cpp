// SPDX-License-Identifier: BSD-2-Clause
// All messages to the wire and back: of clusters (message.hpp) and of jobs (round_message.hpp).
#include <olaf/message.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstring>

#include <olaf/try.hpp>

#include "endpoints/wire/round_message.hpp"

namespace olaf {
namespace {

// To and from network byte order: its own inverse. libc's htonl() family has no 64-bit member.
template <std::integral T> constexpr T big_endian(T value) {
    if constexpr (std::endian::native == std::endian::little)
        return std::byteswap(value);
    return value;
}

unsigned flag(bool set, unsigned bit) {
    return set ? bit : 0U;
}

unsigned format_flags(Format format) {
    return static_cast<unsigned>(format) << OLAF_FLAG_FORMAT_SHIFT;
}

Format format_of(std::uint16_t flags) {
    return static_cast<Format>((flags & OLAF_FLAG_FORMAT_MASK) >> OLAF_FLAG_FORMAT_SHIFT);
}

// The fields that all messages have. `sender`: a worker or a rank of the cluster or job `id`;
// `sequence`: of the update, or the round. `flags` in host order.
olaf_header header_of(olaf_message_type type, unsigned flags, std::uint16_t lanes, std::uint32_t id,
                      std::uint32_t sender, std::uint32_t sequence, std::int64_t generated_ns) {
    olaf_header header{};
    header.magic_be = big_endian<std::uint16_t>(OLAF_MAGIC);
    header.version = OLAF_VERSION;
    header.type = static_cast<std::uint8_t>(type);
    header.flags_be = big_endian(static_cast<std::uint16_t>(flags));
    header.lanes_be = big_endian(lanes);
    header.cluster_be = big_endian(id);
    header.worker_be = big_endian(sender);
    header.sequence_be = big_endian(sequence);
    header.generated_ns_be = big_endian(static_cast<__u64>(generated_ns));
    return header;
}

// Whether such a CONTROL message of a job has an incarnation and a session.
bool names_session(std::uint32_t action) {
    return action == OLAF_CONTROL_SYNC || action == OLAF_CONTROL_JOIN;
}

std::uint16_t lanes_in(const JobSync &sync) {
    return std::max(sync.padding, names_session(sync.action) ? kSyncLanes : std::uint16_t{0});
}

std::uint8_t parity_of(const olaf_header &header) {
    std::array<__u64, OLAF_HEADER_WORDS> words;
    static_assert(sizeof(words) == sizeof(header));
    std::memcpy(words.data(), &header, sizeof(header));
    return olaf_header_parity(words.data());
}

// Of a job's message whose fields are all written.
olaf_header sealed(olaf_header header) {
    header.version = OLAF_ROUNDS_VERSION;
    header.check = 0;
    header.check = parity_of(header);
    return header;
}

std::uint16_t content_of(const VectorKind &kind) {
    return static_cast<std::uint16_t>(kind.content << OLAF_CONTENT_SHIFT | kind.last);
}

VectorKind kind_of(std::uint16_t workers, std::uint16_t content) {
    return {.workers = workers,
            .content = static_cast<olaf_content>(content >> OLAF_CONTENT_SHIFT),
            .last = static_cast<std::uint16_t>(content & OLAF_CONTENT_ELEMENTS_MASK)};
}

std::uint64_t packed(const VectorIdentity &vector) {
    const std::uint32_t kind = std::uint32_t{vector.kind.workers} << 16 | content_of(vector.kind);
    return olaf_vector_identity(vector.chunks, kind);
}

VectorIdentity unpacked(std::uint64_t packed) {
    return {.chunks = static_cast<std::uint32_t>(packed >> 32),
            .kind = kind_of(static_cast<std::uint16_t>(packed >> 16),
                            static_cast<std::uint16_t>(packed))};
}

// Such an answer has a number of members in the place of the job's shape.
bool counts_members(std::uint16_t status) {
    return status == OLAF_CONTROL_WAIT || status == OLAF_CONTROL_OTHER;
}

// What CONTRIBUTION and RESULT have in common.
template <class Message>
olaf_header header_of(const Message &message, olaf_message_type type, unsigned flags) {
    flags |= format_flags(message.format) | flag(message.has_checksum, OLAF_FLAG_CHECKSUM) |
             flag(message.partial, OLAF_FLAG_PARTIAL) |
             flag(message.misfit.has_value(), OLAF_FLAG_MISFIT);
    olaf_header header = header_of(type, flags, message.lanes, message.job, message.rank,
                                   message.round, message.generated_ns);
    if (message.misfit)
        header.generated_ns_be = big_endian(packed(*message.misfit));
    header.workers_be = big_endian(message.kind.workers);
    header.rank_be = big_endian(static_cast<std::uint16_t>(message.rank));
    header.content_be = big_endian(content_of(message.kind));
    header.added_be = big_endian(static_cast<std::uint16_t>(message.count));
    header.chunk_be = big_endian(message.chunk);
    header.chunks_be = big_endian(message.chunks);
    header.generation_be = big_endian(message.generation);
    header.exponent_be = static_cast<std::uint16_t>(big_endian(message.exponent));
    return header;
}

// The header of a message whose prefix is right and whose type is as wanted.
Decoded<olaf_header> read(std::span<const std::byte> message, olaf_message_type wanted) {
    if (OLAF_TRY(decode_type(message)) != wanted)
        return std::unexpected(Reject::wrong_type);
    olaf_header header;
    std::memcpy(&header, message.data(), sizeof(header));
    return header;
}

// The same of a job's message.
Decoded<olaf_header> read_sealed(std::span<const std::byte> message, olaf_message_type wanted) {
    const olaf_header header = OLAF_TRY(read(message, wanted));
    if (header.version != OLAF_ROUNDS_VERSION)
        return std::unexpected(Reject::wrong_version);
    if (parity_of(header) != 0)
        return std::unexpected(Reject::wrong_header);
    return header;
}

template <class Message> Message read(const olaf_header &header) {
    const std::uint16_t flags = big_endian(header.flags_be);
    Message message;
    message.job = big_endian(header.cluster_be);
    message.rank = big_endian(header.rank_be);
    message.round = big_endian(header.sequence_be);
    message.count = big_endian(header.added_be);
    message.generated_ns = static_cast<std::int64_t>(big_endian(header.generated_ns_be));
    message.chunk = big_endian(header.chunk_be);
    message.chunks = big_endian(header.chunks_be);
    message.kind = kind_of(big_endian(header.workers_be), big_endian(header.content_be));
    if ((flags & OLAF_FLAG_MISFIT) != 0)
        message.misfit = unpacked(static_cast<std::uint64_t>(message.generated_ns));
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

// ---- to the wire ----

olaf_header encode(const Update &update) {
    olaf_header header = header_of(
        OLAF_UPDATE,
        format_flags(update.format) | flag(update.has_checksum, OLAF_FLAG_CHECKSUM) |
            flag(update.count > 1, OLAF_FLAG_AGGREGATED),
        update.lanes, update.cluster, update.worker, update.sequence, update.generated_ns);
    header.count_be = big_endian(update.count);
    header.reward_be = big_endian(static_cast<__u64>(update.reward));
    header.model_version_be = big_endian(update.model_version);
    header.segment_be = big_endian(update.segment);
    header.segments_be = big_endian(update.segments);
    return header;
}

olaf_header encode(const Ack &ack) {
    olaf_header header = header_of(
        OLAF_ACK,
        format_flags(Format::f32x2) | flag(ack.has_checksum, OLAF_FLAG_CHECKSUM) |
            flag(ack.stamped, OLAF_FLAG_STAMPED) | flag(ack.congested, OLAF_FLAG_CONGESTED),
        ack.lanes, ack.cluster, ack.worker, ack.sequence, ack.generated_ns);
    header.active_clusters_be = big_endian(ack.active_clusters);
    header.queue_capacity_be = big_endian(ack.queue_capacity);
    header.queue_length_be = big_endian(ack.queue_length);
    header.model_version_be = big_endian(ack.model_version);
    header.segment_be = big_endian(ack.segment);
    header.segments_be = big_endian(ack.segments);
    return header;
}

olaf_header encode(const Join &join) {
    olaf_header header =
        header_of(OLAF_CONTROL, 0, 0, join.cluster, join.worker, join.sequence, join.generated_ns);
    header.count_be = big_endian(kControlJoin);
    header.segments_be = big_endian<std::uint16_t>(1);
    return header;
}

olaf_header encode(const RoundContribution &contribution) {
    return sealed(header_of(contribution, OLAF_CONTRIBUTION,
                            flag(contribution.flush, OLAF_FLAG_FLUSH) |
                                flag(contribution.spoilt, OLAF_FLAG_SPOILT)));
}

olaf_header encode(const RoundResult &result) {
    olaf_header header =
        header_of(result, OLAF_RESULT,
                  flag(result.late, OLAF_FLAG_LATE) | flag(result.stale, OLAF_FLAG_STALE));
    if (result.stale)
        header.named_be = big_endian(result.count);
    header.pool = result.pool;
    return sealed(header);
}

olaf_header encode(const JobSync &sync) {
    olaf_header header =
        header_of(OLAF_CONTROL,
                  flag(sync.answer, OLAF_FLAG_ANSWER) | flag(sync.above, OLAF_FLAG_ABOVE) |
                      flag(sync.anew, OLAF_FLAG_ANEW),
                  lanes_in(sync), sync.job, sync.rank, sync.round, sync.stamp);
    header.workers_be = 0;
    header.rank_be = big_endian(static_cast<std::uint16_t>(sync.rank));
    header.action_be = big_endian<std::uint32_t>(sync.action);
    header.chunk_be = big_endian(sync.chunk);
    if (sync.answer && !counts_members(sync.status)) {
        header.job_lanes_be = big_endian(sync.lanes);
        header.job_shape_be = big_endian(static_cast<std::uint16_t>(
            sync.lanes == 0
                ? 0U
                : format_flags(sync.format) | flag(sync.has_checksum, OLAF_FLAG_CHECKSUM)));
    } else {
        header.missing_be = big_endian(sync.missing);
    }
    header.generation_be = big_endian(sync.generation);
    header.status_be = big_endian(static_cast<std::uint16_t>(sync.status));
    header.pool = sync.pool;
    return sealed(header);
}

std::vector<std::uint64_t> lanes_of(const JobSync &sync) {
    std::vector<std::uint64_t> lanes(lanes_in(sync));
    if (names_session(sync.action)) {
        lanes[OLAF_SYNC_INCARNATION] = sync.incarnation;
        lanes[OLAF_SYNC_SESSION] = sync.session;
        lanes[OLAF_SYNC_TRAINING] = sync.run.training;
        lanes[OLAF_SYNC_RUN] = sync.run.number;
    }
    return lanes;
}

std::optional<olaf_header> version_answer(std::span<const std::byte> message) {
    olaf_header asked;
    if (message.size() < sizeof asked)
        return {};
    std::memcpy(&asked, message.data(), sizeof asked);
    if (big_endian(asked.magic_be) != OLAF_MAGIC || asked.type != OLAF_CONTROL ||
        asked.version == OLAF_ROUNDS_VERSION ||
        (big_endian(asked.flags_be) & OLAF_FLAG_ANSWER) != 0)
        return {};
    return encode(JobSync{.action = {},
                          .job = big_endian(asked.cluster_be),
                          .rank = OLAF_EVERY_RANK,
                          .status = OLAF_CONTROL_VERSION,
                          .answer = true});
}

unsigned version_of(std::span<const std::byte> message) {
    return std::to_integer<unsigned>(message[offsetof(olaf_header, version)]);
}

// ---- from the wire ----

Decoded<olaf_message_type> decode_type(std::span<const std::byte> message) {
    olaf_header header;
    if (message.size() < sizeof(header))
        return std::unexpected(Reject::too_short);
    std::memcpy(&header, message.data(), sizeof(header));
    if (big_endian(header.magic_be) != OLAF_MAGIC)
        return std::unexpected(Reject::wrong_magic);
    if (header.type < OLAF_UPDATE || header.type > OLAF_RESULT)
        return std::unexpected(Reject::wrong_type);
    // A CONTROL message is a cluster's or a job's.
    const bool may_be_cluster = header.type <= OLAF_CONTROL,
               may_be_job = header.type >= OLAF_CONTROL;
    if (!(may_be_cluster && header.version == OLAF_VERSION) &&
        !(may_be_job && header.version == OLAF_ROUNDS_VERSION))
        return std::unexpected(Reject::wrong_version);
    const std::size_t lanes = big_endian(header.lanes_be);
    if (lanes > OLAF_MAX_LANES || message.size() != message_size(lanes))
        return std::unexpected(Reject::wrong_length);
    return static_cast<olaf_message_type>(header.type);
}

Decoded<Update> decode_update(std::span<const std::byte> message) {
    const olaf_header header = OLAF_TRY(read(message, OLAF_UPDATE));
    const std::uint16_t flags = big_endian(header.flags_be);
    const Update update = {
        .cluster = big_endian(header.cluster_be),
        .worker = big_endian(header.worker_be),
        .sequence = big_endian(header.sequence_be),
        .count = big_endian(header.count_be),
        .generated_ns = static_cast<std::int64_t>(big_endian(header.generated_ns_be)),
        .reward = static_cast<std::int64_t>(big_endian(header.reward_be)),
        .model_version = big_endian(header.model_version_be),
        .segment = big_endian(header.segment_be),
        .segments = big_endian(header.segments_be),
        .lanes = big_endian(header.lanes_be),
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
    const olaf_header header = OLAF_TRY(read(message, OLAF_ACK));
    const std::uint16_t flags = big_endian(header.flags_be);
    const Ack ack = {
        .cluster = big_endian(header.cluster_be),
        .worker = big_endian(header.worker_be),
        .sequence = big_endian(header.sequence_be),
        .generated_ns = static_cast<std::int64_t>(big_endian(header.generated_ns_be)),
        .active_clusters = big_endian(header.active_clusters_be),
        .queue_capacity = big_endian(header.queue_capacity_be),
        .queue_length = big_endian(header.queue_length_be),
        .model_version = big_endian(header.model_version_be),
        .segment = big_endian(header.segment_be),
        .segments = big_endian(header.segments_be),
        .lanes = big_endian(header.lanes_be),
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
    const olaf_header header = OLAF_TRY(read(message, OLAF_CONTROL));
    if (header.version != OLAF_VERSION)
        return std::unexpected(Reject::wrong_version);
    if (big_endian(header.count_be) != kControlJoin)
        return std::unexpected(Reject::wrong_type);
    return Join{
        .cluster = big_endian(header.cluster_be),
        .worker = big_endian(header.worker_be),
        .sequence = big_endian(header.sequence_be),
        .generated_ns = static_cast<std::int64_t>(big_endian(header.generated_ns_be)),
    };
}

Decoded<RoundContribution> decode_contribution(std::span<const std::byte> message) {
    const olaf_header header = OLAF_TRY(read_sealed(message, OLAF_CONTRIBUTION));
    auto contribution = read<RoundContribution>(header);
    contribution.flush = (big_endian(header.flags_be) & OLAF_FLAG_FLUSH) != 0;
    contribution.spoilt = (big_endian(header.flags_be) & OLAF_FLAG_SPOILT) != 0;
    return checked(contribution);
}

Decoded<RoundResult> decode_result(std::span<const std::byte> message) {
    const olaf_header header = OLAF_TRY(read_sealed(message, OLAF_RESULT));
    auto result = read<RoundResult>(header);
    const std::uint16_t flags = big_endian(header.flags_be);
    result.late = (flags & OLAF_FLAG_LATE) != 0;
    result.stale = (flags & OLAF_FLAG_STALE) != 0;
    result.pool = header.pool;
    if (result.pool > kMostPool)
        return std::unexpected(Reject::wrong_count);
    if (result.lanes == 0 ? !result.stale && !result.misfit : result.stale)
        return std::unexpected(Reject::wrong_lanes);
    if (result.rank == OLAF_EVERY_RANK)
        result.rank = OLAF_EVERY_WORKER;
    if (result.stale) { // its chunk is perhaps another vector's
        result.count = big_endian(header.named_be);
        return result;
    }
    return checked(result);
}

Decoded<JobSync> decode_sync(std::span<const std::byte> message) {
    const olaf_header header = OLAF_TRY(read_sealed(message, OLAF_CONTROL));
    const std::uint32_t action = big_endian(header.action_be);
    if (action < OLAF_CONTROL_JOIN || (action > OLAF_CONTROL_LEAVE && action != OLAF_CONTROL_RESET))
        return std::unexpected(Reject::wrong_type);
    const std::uint16_t status = big_endian(header.status_be);
    if (status > OLAF_CONTROL_OTHER || status == OLAF_CONTROL_REFUSED)
        return std::unexpected(Reject::wrong_count);
    const std::uint16_t lanes = big_endian(header.lanes_be);
    std::array<std::uint64_t, kSyncLanes> told = {};
    if (names_session(action)) {
        if (lanes < kSyncLanes)
            return std::unexpected(Reject::wrong_lanes);
        std::memcpy(told.data(), message.data() + sizeof header, sizeof told);
    }
    const olaf_run run = {.training = told[OLAF_SYNC_TRAINING], .number = told[OLAF_SYNC_RUN]};
    if (header.pool > kMostPool)
        return std::unexpected(Reject::wrong_count);
    const bool answer = (big_endian(header.flags_be) & OLAF_FLAG_ANSWER) != 0;
    if (!answer && names_session(action) && run.training == 0)
        return std::unexpected(Reject::wrong_lanes);
    const bool tells = answer && !counts_members(status);
    const std::uint16_t shape = tells ? big_endian(header.job_shape_be) : std::uint16_t{0};
    return JobSync{
        .action = static_cast<olaf_control_action>(action),
        .job = big_endian(header.cluster_be),
        .rank = big_endian(header.rank_be),
        .round = big_endian(header.sequence_be),
        .chunk = big_endian(header.chunk_be),
        .stamp = static_cast<std::int64_t>(big_endian(header.generated_ns_be)),
        .missing = tells ? 0 : big_endian(header.missing_be),
        .lanes = tells ? big_endian(header.job_lanes_be) : std::uint16_t{0},
        .format = format_of(shape),
        .has_checksum = (shape & OLAF_FLAG_CHECKSUM) != 0,
        .generation = big_endian(header.generation_be),
        .status = static_cast<olaf_control_status>(status),
        .pool = header.pool,
        .answer = answer,
        .above = (big_endian(header.flags_be) & OLAF_FLAG_ABOVE) != 0,
        .incarnation = told[OLAF_SYNC_INCARNATION],
        .session = told[OLAF_SYNC_SESSION],
        .run = run,
        .anew = (big_endian(header.flags_be) & OLAF_FLAG_ANEW) != 0,
        .padding = lanes,
    };
}

// ---- what isn't of the header ----

bool adds_up(const VectorKind &one, const VectorKind &other) {
    const auto undivided = [](VectorKind kind) {
        if (kind.content == OLAF_CONTENT_FLOAT_MEAN)
            kind.content = OLAF_CONTENT_FLOAT_SUM;
        if (kind.content == OLAF_CONTENT_GUESSED_MEAN)
            kind.content = OLAF_CONTENT_GUESSED_SUM;
        return kind;
    };
    return undivided(one) == undivided(other);
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
