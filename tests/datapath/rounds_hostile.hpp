// SPDX-License-Identifier: BSD-2-Clause
// Frames that no worker of a job sends: each differs from a good one in one thing.
#pragma once

#include <arpa/inet.h>

#include <array>
#include <cstring>

#include "queue_test.hpp"
#include "rounds_wire.hpp"
#include "tests/model/round_gate.hpp"

namespace olaf::test {

using model::RoundFrame;
using model::RoundRefusal;
using model::RoundSender;

enum class Hostility {
    other_host,
    other_port, ///< of a rank that is bound to one for good
    no_port,
    others_rank,        ///< a member uses another one's
    halt_from_other_host, ///< by one that knows the generation
    rank_beyond,        ///< the children
    too_few_lanes,
    too_many_lanes,
    other_format,
    other_checksum, ///< a lane of it where the job has none, or none where it has one
    no_count,
    chunk_beyond,       ///< the chunks
    chunk_beyond_stale, ///< the same, with a RESULT's flag that lets that pass
    other_job,
    result_from_below,
    stale_from_below,
    answer_from_below,
    sync_without_lanes,
    sync_of_three_lanes,
    answer_of_three_lanes,
    answer_of_six_lanes,
    sync_of_six_lanes,
    sync_of_no_run,
    sync_with_a_wrong_checksum, ///< of UDP
    sync_with_no_checksum,
    sync_of_another_checksum, ///< none of UDP, and a flag as if its lanes had one of their own
};
inline constexpr std::size_t hostilities = static_cast<std::size_t>(Hostility::sync_of_another_checksum) + 1;

/// Where a rank's own frames come from, as RoundsTest::path_of() has it.
inline RoundSender sender_of(std::uint32_t rank) {
    return {.host = static_cast<std::uint8_t>(10 + rank), .port = static_cast<std::uint16_t>(41000 + rank)};
}

inline Path path_of(const RoundSender &sender, int family = 4) {
    Path path(family);
    return path.source(sender.host).source_port(sender.port).from({2, 0, 0, 1, 0, static_cast<std::uint8_t>(sender.host - 10)});
}

/// Whether the random tests bind it to its address and port for good. Another's port would do after a short
/// silence, which a busy machine may well make.
inline bool is_bound(std::uint32_t rank) { return rank % 2 == 0; }

/// As `olaf job set --member` does.
inline void bind_for_good(const Harness &queue, std::uint32_t rank, int family = 4) {
    const auto frame = path_of(sender_of(rank), family).carrying(JobMessage{});
    olaf_child child{};
    child.member.family = static_cast<std::uint8_t>(family);
    child.member.flags = OLAF_MEMBER_REGISTERED | OLAF_MEMBER_PORT_BOUND;
    child.member.port_be = htons(sender_of(rank).port);
    std::memcpy(child.member.addr_be, frame.bytes.data() + frame.l3 + (family == 4 ? 12 : 8), family == 4 ? 4 : 16);
    queue.write("olaf_children", olaf_child_index(0, rank), child);
}

/// As the gate's model sees the message.
inline RoundFrame seen(const JobMessage &message, const RoundSender &sender, std::uint32_t shape) {
    using Type = RoundFrame::Type;
    constexpr std::uint32_t shape_bits = OLAF_FLAG_CHECKSUM | OLAF_FLAG_FORMAT_MASK;
    const bool answers = (message.flags & OLAF_FLAG_ANSWER) != 0;
    const auto type = message.type == OLAF_RESULT         ? Type::result
                      : message.type == OLAF_CONTRIBUTION ? Type::contribution
                      : answers                           ? Type::answer
                                                          : Type::control;
    return {.type = type, .job = message.job, .rank = message.rank, .count = message.count,
            .chunk = message.chunk, .chunks = message.chunks,
            .lanes = static_cast<std::uint32_t>(message.lanes.size()),
            .is_of_jobs_format = (message.flags & shape_bits) == shape,
            .has_checksum_lane = (message.flags & OLAF_FLAG_CHECKSUM) != 0,
            .names_session = message.type == OLAF_CONTROL &&
                             (message.count == OLAF_CONTROL_SYNC || message.count == OLAF_CONTROL_JOIN),
            .names_run = message.lanes.size() > OLAF_SYNC_TRAINING && message.lanes[OLAF_SYNC_TRAINING] != 0,
            .sender = sender};
}

/// Makes it a SYNC of so many lanes, or the answer to one.
inline void become_sync(JobMessage &message, std::size_t lanes, std::uint16_t flags = 0) {
    message.type = OLAF_CONTROL;
    message.flags = flags;
    message.count = OLAF_CONTROL_SYNC;
    message.lanes.resize(lanes);
    if (lanes >= OLAF_SYNC_LANES)
        message.lanes[OLAF_SYNC_TRAINING] |= 1;
}

/// Spoils a contribution that is good, with lanes. `children` is at least 2 for others_rank.
inline void spoil(Hostility how, JobMessage &message, RoundSender &sender, std::uint32_t children) {
    switch (how) {
    case Hostility::other_host: sender.host = 99; break;
    case Hostility::other_port: sender.port = 999; break;
    case Hostility::no_port: sender.port = 0; break;
    case Hostility::others_rank: sender = sender_of((message.rank + 1) % children); break;
    case Hostility::halt_from_other_host:
        sender.host = 99;
        message.type = OLAF_CONTROL;
        message.flags = 0;
        message.count = OLAF_CONTROL_HALT;
        message.lanes.clear();
        break;
    case Hostility::rank_beyond: message.rank = message.rank == 0 ? children : UINT32_MAX - (message.rank - 1); break;
    case Hostility::too_few_lanes: message.lanes.pop_back(); break;
    case Hostility::too_many_lanes: message.lanes.push_back(0); break;
    case Hostility::other_format:
        message.flags = (message.flags & ~OLAF_FLAG_FORMAT_MASK) | (OLAF_FORMAT_I16X4 << OLAF_FLAG_FORMAT_SHIFT);
        break;
    case Hostility::other_checksum: message.flags ^= OLAF_FLAG_CHECKSUM; break;
    case Hostility::no_count: message.count = 0; break;
    case Hostility::chunk_beyond: message.chunk = message.chunks + message.rank; break;
    case Hostility::chunk_beyond_stale:
        message.chunk = message.chunks + message.rank;
        message.flags |= OLAF_FLAG_STALE;
        break;
    case Hostility::other_job: message.job++; break;
    case Hostility::result_from_below: message.type = OLAF_RESULT; break;
    case Hostility::stale_from_below:
        message.type = OLAF_RESULT;
        message.flags |= OLAF_FLAG_STALE;
        message.lanes.clear();
        break;
    case Hostility::answer_from_below: become_sync(message, OLAF_SYNC_LANES, OLAF_FLAG_ANSWER); break;
    case Hostility::sync_without_lanes: become_sync(message, 0); break;
    case Hostility::sync_of_three_lanes: become_sync(message, 3); break;
    case Hostility::answer_of_three_lanes: become_sync(message, 3, OLAF_FLAG_ANSWER); break;
    case Hostility::answer_of_six_lanes: become_sync(message, 6, OLAF_FLAG_ANSWER); break;
    case Hostility::sync_of_six_lanes: become_sync(message, 6); break;
    case Hostility::sync_of_no_run:
        become_sync(message, OLAF_SYNC_LANES);
        message.lanes[OLAF_SYNC_TRAINING] = 0;
        break;
    case Hostility::sync_with_a_wrong_checksum:
    case Hostility::sync_with_no_checksum: become_sync(message, OLAF_SYNC_LANES); break;
    case Hostility::sync_of_another_checksum: become_sync(message, OLAF_SYNC_LANES, OLAF_FLAG_CHECKSUM); break;
    }
}

/// Of UDP.
inline bool has_no_checksum(Hostility how) {
    return how == Hostility::sync_with_no_checksum || how == Hostility::sync_of_another_checksum;
}

/// The gate's model sees the spoilt message so, and the kernel gets this frame.
inline RoundFrame seen(Hostility how, const JobMessage &message, const RoundSender &sender, std::uint32_t shape) {
    auto frame = seen(message, sender, shape);
    if (how == Hostility::sync_with_a_wrong_checksum)
        frame.udp_checksum = RoundFrame::Checksum::wrong;
    if (has_no_checksum(how))
        frame.udp_checksum = RoundFrame::Checksum::none;
    return frame;
}
inline Frame hostile_frame(Hostility how, const JobMessage &message, const RoundSender &sender, int family = 4) {
    auto frame = path_of(sender, family).carrying(message);
    if (how == Hostility::sync_with_a_wrong_checksum) {
        frame.bytes.back() ^= 1; // of its session
        if (frame.bytes == partial(frame).bytes) // one in 65536 looks as if the device were to finish it
            frame.bytes[frame.l4 + 6] ^= 1;
    }
    if (has_no_checksum(how))
        set_be(frame.bytes, frame.l4 + 6, 0, 2);
    return frame;
}

/// What becomes of a frame that the gate refuses: of somebody else's contribution to another generation the
/// sender is told that it is STALE, as it may be of an earlier run.
inline const char *verdict_on(RoundRefusal refusal, const JobMessage &message, const RoundSender &sender,
                              std::uint32_t generation) {
    if (refusal == RoundRefusal::source && sender.port != 0 && message.type == OLAF_CONTRIBUTION &&
        message.generation != generation)
        return "XDP_TX";
    return refusal == RoundRefusal::no_job ? "XDP_PASS" : "XDP_DROP";
}

/// Where the queue counts what the gate refuses.
inline std::uint64_t counted(const olaf_counters &counters, RoundRefusal refusal) {
    switch (refusal) {
    case RoundRefusal::none: return counters.received;
    case RoundRefusal::no_job: return counters.bypassed[OLAF_BYPASS_JOB];
    case RoundRefusal::chunk: return counters.malformed[OLAF_MALFORMED_CHUNK];
    case RoundRefusal::count: return counters.malformed[OLAF_MALFORMED_COUNT];
    case RoundRefusal::lanes: return counters.malformed[OLAF_MALFORMED_LANES];
    case RoundRefusal::udp_checksum: return counters.malformed[OLAF_MALFORMED_UDP_CHECKSUM];
    case RoundRefusal::shape: return counters.malformed[OLAF_MALFORMED_JOB];
    case RoundRefusal::source: return counters.not_allowed[OLAF_NOT_ALLOWED_JOB_SOURCE];
    case RoundRefusal::result: return counters.not_allowed[OLAF_NOT_ALLOWED_JOB_RESULT];
    }
    return 0;
}
inline constexpr std::array refusals = {RoundRefusal::no_job, RoundRefusal::chunk, RoundRefusal::count, RoundRefusal::lanes,
                                        RoundRefusal::udp_checksum, RoundRefusal::shape, RoundRefusal::source, RoundRefusal::result};

} // namespace olaf::test
