// SPDX-License-Identifier: BSD-2-Clause
#include "round_frames.hpp"

#include <arpa/inet.h>
#include <endian.h>

#include <bit>
#include <cstring>
#include <map>
#include <tuple>

#include "../datapath/packet.hpp"

namespace olaf::interleave {
namespace {

constexpr std::size_t message_offset = 14 + 20 + 8, daddr_offset = 14 + 16;
constexpr std::uint64_t second_lane = 3;
constexpr std::size_t lanes = 3; // two, and the checksum lane
constexpr std::uint64_t first_ns = 1'000;
constexpr std::uint32_t most_numbers = 8; // of SETH
constexpr std::uint64_t most_runs = 4;
constexpr int control_kinds = 100;        // of frames that are made once: behind all others

std::vector<std::uint64_t> lanes_of(std::uint64_t bits) {
    std::vector<std::uint64_t> result = {bits, second_lane * bits};
    result.push_back(test::checksum_lane(result));
    return result;
}

test::JobMessage about(const Chunk &at) {
    test::JobMessage message;
    message.job = the_job;
    message.round = first_round + at.round;
    message.chunk = at.chunk;
    message.chunks = 16;
    message.generation = first_generation + at.life;
    return message;
}

test::Path from_child(std::uint32_t rank) {
    return test::ipv4().source(static_cast<std::uint8_t>(rank + 1));
}

test::Path from_parent() {
    return test::ipv4().among_servers().source(parent_host).source_port(OLAF_DEFAULT_PORT);
}

/// Frames are made once: a search needs the same few again and again.
using Key = std::tuple<int, std::uint64_t, std::uint32_t, std::uint32_t, std::uint32_t, bool>;
template <class Make> std::span<const std::uint8_t> made_once(const Key &key, Make make) {
    static std::map<Key, test::Bytes> all;
    auto &bytes = all[key];
    if (bytes.empty())
        bytes = make();
    return bytes;
}

} // namespace

Chunk chunk_of(unsigned mark) {
    return {mark / most_chunks % most_rounds, chunks[mark % most_chunks],
            mark / (most_chunks * most_rounds) % most_lives};
}

std::uint64_t newest_of(std::uint64_t bits) {
    return first_ns + static_cast<unsigned>(std::bit_width(bits)) - 1;
}

std::span<const std::uint8_t> contribution_frame(std::uint32_t rank, const Chunk &at, bool flush) {
    return made_once({0, rank, at.round, at.chunk, at.life, flush}, [&] {
        test::JobMessage message = about(at);
        message.rank = rank;
        message.flags |= flush ? OLAF_FLAG_FLUSH : 0;
        message.lanes = lanes_of(1ull << mark_of(rank, at));
        message.generated_ns = newest_of(1ull << mark_of(rank, at));
        message.exponent = static_cast<std::int16_t>(mark_of(rank, at));
        return from_child(rank).carrying(message).bytes;
    });
}

std::span<const std::uint8_t> probe_frame(std::uint32_t rank, const Chunk &at, bool flush) {
    return made_once({1, rank, at.round, at.chunk, at.life, flush}, [&] {
        test::JobMessage message = about(at);
        message.rank = rank;
        message.flags |= flush ? OLAF_FLAG_FLUSH : 0;
        return from_child(rank).carrying(message).bytes;
    });
}

std::span<const std::uint8_t> result_frame(std::uint64_t children, const Chunk &at) {
    return made_once({2, children, at.round, at.chunk, at.life, false}, [&] {
        test::JobMessage message = about(at);
        const std::uint64_t bits = children | 1ull << others_mark_of(at);
        message.type = OLAF_RESULT;
        message.flags |= children == 0 ? OLAF_FLAG_LATE : 0;
        message.generation = parents_generation + at.life;
        message.lanes = lanes_of(bits);
        message.count = static_cast<std::uint32_t>(std::popcount(bits));
        message.generated_ns = newest_of(bits);
        message.exponent = static_cast<std::int16_t>(others_mark_of(at));
        return from_parent().carrying(message).bytes;
    });
}

std::span<const std::uint8_t> over_frame(const Chunk &at) {
    return made_once({3, 0, at.round, at.chunk, at.life, false}, [&] {
        test::JobMessage message = about(at);
        message.type = OLAF_RESULT;
        message.flags |= OLAF_FLAG_STALE;
        message.generation = message.count = parents_generation + at.life;
        return from_parent().carrying(message).bytes;
    });
}

std::span<const std::uint8_t> control_frame(olaf_control_action action, std::uint32_t rank,
                                            const Chunk &at, std::uint64_t stamp,
                                            std::uint32_t number, std::uint64_t run) {
    const std::uint64_t who = ((stamp * most_ranks + rank) * most_numbers + number) * most_runs + run;
    return made_once({control_kinds + action, who, at.round, at.chunk, at.life, false}, [&] {
        test::JobMessage message = about(at);
        message.type = OLAF_CONTROL;
        message.flags = 0;
        message.rank = rank;
        message.count = action;
        message.chunks = number;
        message.generated_ns = stamp;
        if (action == OLAF_CONTROL_SYNC || action == OLAF_CONTROL_JOIN)
            message.lanes = {incarnation_of(rank, run), 0, 1, run}; // no session: all are new each time
        return from_child(rank).carrying(message).bytes;
    });
}

std::span<const std::uint8_t> answer_frame(const Chunk &at, std::uint64_t stamp) {
    return made_once({5, stamp, at.round, at.chunk, at.life, false}, [&] {
        test::JobMessage message = about(at);
        message.type = OLAF_CONTROL;
        message.flags = OLAF_FLAG_ANSWER;
        message.count = OLAF_CONTROL_SYNC;
        message.chunks = 0;
        message.generated_ns = stamp;
        message.generation = parents_generation + at.life;
        message.exponent = OLAF_CONTROL_DONE;
        message.lanes = {0, 1, 1, first_run};
        return from_parent().carrying(message).bytes;
    });
}

bool lanes_agree(const std::uint64_t *sum) {
    return sum[1] == second_lane * sum[0] && sum[2] == sum[0] + 3 * sum[1];
}

std::optional<Sum> read_sum(std::span<const std::uint8_t> frame) {
    if (frame.size() != message_offset + sizeof(olaf_header) + 8 * lanes)
        return std::nullopt;
    olaf_header header;
    std::uint64_t sum[lanes];
    std::memcpy(&header, frame.data() + message_offset, sizeof(header));
    std::memcpy(sum, frame.data() + message_offset + sizeof(header), sizeof(sum));
    Sum read;
    read.type = static_cast<olaf_message_type>(header.type);
    read.flags = ntohs(header.flags_be);
    read.rank = ntohs(header.rank_be);
    if (read.rank == OLAF_EVERY_RANK)
        read.rank = OLAF_EVERY_WORKER;
    read.at = {ntohl(header.sequence_be) - first_round, ntohl(header.chunk_be), 0};
    read.generation = ntohl(header.generation_be);
    read.count = ntohs(header.added_be);
    read.generated_ns = be64toh(header.generated_ns_be);
    read.marks = sum[0];
    std::uint32_t daddr_be;
    std::memcpy(&daddr_be, frame.data() + daddr_offset, sizeof(daddr_be));
    read.to_group = ntohl(daddr_be) == the_group;
    read.exact = lanes_agree(sum) &&
                 ntohs(header.exponent_be) == std::bit_width(sum[0]) - 1;
    return read;
}

} // namespace olaf::interleave
