// SPDX-License-Identifier: BSD-2-Clause
// What CPUs of a job's node do in scenarios.
#pragma once

#include "rounds_scenarios.hpp"

namespace olaf::interleave {

/// In the job's second generation: all has begun anew.
constexpr Chunk anew(Chunk at) {
    at.life = 1;
    return at;
}

/// The first four use one slot.
inline constexpr Chunk c0{0, 0}, c1{0, 4}, c2{0, 8}, c3{1, 0}, far{1, 4}, beside{0, 1},
    later_beside{1, 1};
inline constexpr std::uint64_t newer_stamp = 2;

inline JobAct contribution(std::uint32_t rank, Chunk at) {
    return [=](Node &node) { node.contribute(rank, at); };
}

inline JobAct contributions(std::uint32_t rank, Chunk at, Chunk then) {
    return [=](Node &node) {
        node.contribute(rank, at);
        node.contribute(rank, then);
    };
}

/// It carries a result away, and changes nothing else.
inline JobAct probe(std::uint32_t rank) {
    return [=](Node &node) { node.probe(rank, far); };
}

inline JobAct order(olaf_job_action action) {
    return [=](Node &node) { node.order(action); };
}

/// These ranks have contributed to the chunk.
inline JobAct contributed(std::vector<std::uint32_t> ranks, Chunk at) {
    return [=](Node &node) {
        for (const auto rank : ranks)
            node.contribute(rank, at);
    };
}

/// Both children ask anew, and the job runs in its next generation.
inline void resync(Node &node, const JobShape &shape) {
    node.sync(0, c0, newer_stamp);
    node.sync(1, c0, newer_stamp);
    if (shape.has_parent)
        node.hear_answer(anew(c0));
}

// ---- members ---------------------------------------------------------------------------

inline constexpr std::uint64_t join_stamp = 7;
/// One slot: a change is over with the second chunk. The third of three children isn't there yet.
inline constexpr JobShape three{.children = 3, .pool = 0};
inline constexpr JobShape third_absent{.children = 3, .pool = 0, .absent = 0b100};

/// Two slots, for what needs results in both.
constexpr JobShape with_two_slots(JobShape shape) {
    shape.pool = 1;
    return shape;
}

/// As many chunks as a change takes: it isn't young any more, and whoever asks may join.
inline void grow_up(Node &node, std::uint32_t children) {
    node.leave_two_to_open();
    for (const Chunk at : {c0, beside})
        for (std::uint32_t rank = 0; rank < children; rank++)
            node.contribute(rank, at);
}

inline JobAct join(std::uint32_t rank) {
    return [=](Node &node) { node.join(rank, join_stamp); };
}

inline JobAct leave(std::uint32_t rank, std::uint32_t round) {
    return [=](Node &node) { node.leave_job(rank, round); };
}

} // namespace olaf::interleave
