// SPDX-License-Identifier: BSD-2-Clause
// Messages of a job as they arrive, and what leaves taken apart. Each contribution has a bit of its own
// in its lanes, so a sum tells by its lanes what is in it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "olaf/protocol.h"

namespace olaf::interleave {

inline constexpr std::uint32_t the_job = 1;       ///< its id
inline constexpr unsigned most_ranks = 3, most_lives = 2, most_rounds = 2;
/// Numbers on the wire: the second round is behind the wrap.
inline constexpr std::uint32_t first_round = 0xffffffff;
/// Of a job with four slots the first three use the same, and the last another.
inline constexpr std::uint32_t chunks[] = {0, 4, 8, 1};
inline constexpr unsigned most_chunks = 4;
inline constexpr std::uint32_t first_generation = 100; ///< of the job
inline constexpr std::uint32_t parents_generation = 500; ///< the parent's, when the job's is the first
inline constexpr std::uint8_t parent_host = 9;
inline constexpr std::uint32_t the_group = 0xef010203; ///< 239.1.2.3, of a job with one

/// A chunk of one round, in one life: of the first generation, or the next.
struct Chunk {
    std::uint32_t round = 0, chunk = 0, life = 0;
    bool operator==(const Chunk &) const = default;
};

constexpr unsigned place_of(const Chunk &at) {
    unsigned place = 0;
    while (place + 1 < most_chunks && chunks[place] != at.chunk)
        place++;
    return place;
}

/// The number of what a child contributes to a chunk, which is its bit.
constexpr unsigned mark_of(std::uint32_t rank, const Chunk &at) {
    return ((rank * most_lives + at.life) * most_rounds + at.round) * most_chunks + place_of(at);
}
inline constexpr unsigned marks = most_ranks * most_lives * most_rounds * most_chunks;
/// The bit of what others than this node contribute to the chunk at its parent.
constexpr unsigned others_mark_of(const Chunk &at) {
    return marks + at.life * most_chunks + place_of(at);
}
/// Of a child's contribution.
Chunk chunk_of(unsigned mark);

std::span<const std::uint8_t> contribution_frame(std::uint32_t rank, const Chunk &at, bool flush);
std::span<const std::uint8_t> probe_frame(std::uint32_t rank, const Chunk &at, bool flush);
/// The parent's RESULT of a chunk to which the children contributed whose bits are set, and others.
std::span<const std::uint8_t> result_frame(std::uint64_t children, const Chunk &at);
/// The parent has no such chunk any more.
std::span<const std::uint8_t> over_frame(const Chunk &at);
/// Of all members at first. A later one has a higher number.
inline constexpr std::uint64_t first_run = 1, later_run = 2;
/// Sums of one run's are told from sums of two runs'.
constexpr std::uint64_t incarnation_of(std::uint32_t rank, std::uint64_t run) {
    return std::uint64_t{1 + rank} << (32 * (run - first_run));
}
constexpr bool is_of_two_runs(std::uint64_t session) { return session >> 32 != 0 && (session & UINT32_MAX) != 0; }
/// A child asks or orders something, and names this chunk. `number` is SETH's, `run` SYNC's and JOIN's.
std::span<const std::uint8_t> control_frame(olaf_control_action action, std::uint32_t rank,
                                            const Chunk &at, std::uint64_t stamp,
                                            std::uint32_t number = 0, std::uint64_t run = first_run);
/// The parent's answer: all begin at this chunk.
std::span<const std::uint8_t> answer_frame(const Chunk &at, std::uint64_t stamp);

/// What left: a RESULT for a child, or a CONTRIBUTION for the parent.
struct Sum {
    olaf_message_type type = OLAF_RESULT;
    std::uint16_t flags = 0;
    std::uint32_t rank = 0;       ///< the addressee's; the node's own
    Chunk at = {};                ///< by its header
    std::uint32_t generation = 0; ///< by its header
    std::uint32_t count = 0;
    std::uint64_t generated_ns = 0;
    std::uint64_t marks = 0; ///< by its lanes
    bool exact = false;      ///< all its lanes say the same
    bool to_group = false;   ///< its frame goes to the_group
};
/// Nothing: it isn't a sum.
std::optional<Sum> read_sum(std::span<const std::uint8_t> frame);
/// The same of lanes alone: do all say the same?
bool lanes_agree(const std::uint64_t *lanes);
/// When the newest of these was made.
std::uint64_t newest_of(std::uint64_t marks);

} // namespace olaf::interleave
