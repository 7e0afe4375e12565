// SPDX-License-Identifier: BSD-2-Clause
// Messages of the model of a node, as the kernel's frames carry them.
#pragma once

#include <bit>
#include <cmath>

#include "rounds.hpp"
#include "tests/effort.hpp"
#include "tests/model/round_node.hpp"

namespace olaf::test {

using model::RoundMessage;
using model::RoundNode;

/// Chunks of each round.
inline constexpr std::uint32_t chunks = 4;

/// The vector of each round: 7 integers of 64 bits behind each other, of a job of 12 workers.
inline constexpr std::uint32_t one_vector = 12 << 16 | OLAF_CONTENT_INT64 << OLAF_CONTENT_SHIFT | 7;

/// What the random tests begin with, which a failure tells.
inline std::uint64_t seed() {
    static const std::uint64_t value = from_environment("OLAF_SEED", 1);
    return value;
}
inline std::string step_of_seed(std::uint64_t step) {
    return "OLAF_SEED=" + std::to_string(seed()) + ", step " + std::to_string(step);
}

/// The model's lane, two integers, as two floats: multiples of 2^-20, so small that no sum of them is
/// rounded.
inline std::uint64_t as_floats(std::uint64_t lane) {
    const auto low = static_cast<std::int32_t>(lane);
    const auto high = static_cast<std::int32_t>((lane - static_cast<std::uint64_t>(low)) >> 32);
    const auto bits = [](std::int32_t value) {
        return std::bit_cast<std::uint32_t>(std::ldexp(static_cast<float>(value), -20));
    };
    return std::uint64_t{bits(high)} << 32 | bits(low);
}

/// Whether a CONTROL of a child's, or its answer, has an incarnation and a session.
inline bool names_session(const RoundMessage &message) {
    using Kind = RoundMessage::Kind;
    return message.kind == Kind::sync || message.kind == Kind::sync_answer ||
           message.action == RoundMessage::Action::join;
}

/// Whether an answer has a number of members in the place of the job's shape.
inline bool counts_members(const RoundMessage &message) {
    return message.status == RoundMessage::Status::wait || message.status == RoundMessage::Status::other;
}

/// The lanes of a CONTROL. Those of a question that mean nothing aren't 0.
inline std::vector<std::uint64_t> control_lanes(const RoundMessage &message) {
    using Kind = RoundMessage::Kind;
    const bool asks = message.kind == Kind::sync || message.kind == Kind::order;
    std::vector<std::uint64_t> lanes(message.padding, asks ? ~0ull : 0);
    if (names_session(message)) {
        lanes.at(OLAF_SYNC_INCARNATION) = message.incarnation;
        lanes.at(OLAF_SYNC_SESSION) = message.session;
        lanes.at(OLAF_SYNC_TRAINING) = message.run.training;
        lanes.at(OLAF_SYNC_RUN) = message.run.number;
    }
    return lanes;
}

/// What the last lane must be.
inline std::uint64_t checksum_of(const std::vector<std::uint64_t> &lanes) {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i + 1 < lanes.size(); i++)
        sum += (2 * i + 1) * lanes[i];
    return sum;
}

/// A model's message as a frame of the job's carries it. `floats`: as_floats() of its lanes.
inline JobMessage on_wire(const olaf_job_setup &setup, const RoundMessage &message, bool floats = false) {
    JobMessage wire{.flags = setup.shape, .job = setup.id, .rank = message.rank,
                    .round = message.round, .count = message.count,
                    .generated_ns = static_cast<std::uint64_t>(message.time),
                    .chunk = message.chunk, .chunks = message.chunks, .vector = message.vector,
                    .generation = message.generation, .exponent = message.exponent,
                    .pool = message.pool, .lanes = message.lanes};
    if (floats)
        std::ranges::transform(message.lanes, wire.lanes.begin(), as_floats);
    if (message.partial)
        wire.flags |= OLAF_FLAG_PARTIAL;
    if (message.misfit) {
        wire.flags |= OLAF_FLAG_MISFIT;
        wire.generated_ns = *message.misfit;
    }
    if (message.flush && message.kind == RoundMessage::Kind::contribution)
        wire.flags |= OLAF_FLAG_FLUSH;
    if (message.spoilt && message.kind == RoundMessage::Kind::contribution)
        wire.flags |= OLAF_FLAG_SPOILT;
    if (message.late)
        wire.flags |= OLAF_FLAG_LATE;
    if (message.kind == RoundMessage::Kind::result)
        wire.type = OLAF_RESULT;
    if (message.stale) {
        wire.flags = setup.shape | OLAF_FLAG_STALE;
        wire.vector = 0;
    }
    if (message.kind == RoundMessage::Kind::sync) {
        wire.type = OLAF_CONTROL;
        wire.flags = message.anew ? OLAF_FLAG_ANEW : 0;
        wire.count = OLAF_CONTROL_SYNC;
        wire.chunks = 0;
        wire.exponent = 0;
    }
    if (message.kind == RoundMessage::Kind::order ||
        message.kind == RoundMessage::Kind::order_answer) {
        const bool answers = message.kind == RoundMessage::Kind::order_answer;
        wire.type = OLAF_CONTROL;
        wire.flags = answers ? OLAF_FLAG_ANSWER : 0;
        wire.count = static_cast<std::uint32_t>(message.action);
        wire.chunks = answers && !counts_members(message)
                          ? static_cast<std::uint32_t>(setup.lanes) << 16 | setup.shape
                          : message.missing;
        wire.exponent = answers ? static_cast<std::int16_t>(message.status) : std::int16_t{0};
    }
    if (wire.type == OLAF_CONTROL)
        wire.lanes = control_lanes(message);
    return wire;
}

/// The message with what a model doesn't know taken from what the kernel says: how long another run keeps the job,
/// as a model's members are never silent.
inline RoundMessage with_time_kept(RoundMessage want, const JobMessage &got) {
    if (want.status == RoundMessage::Status::other && want.missing > 0 && got.lanes.size() > OLAF_SYNC_SESSION)
        want.session = std::max<std::uint64_t>(got.lanes[OLAF_SYNC_SESSION], 1);
    return want;
}

/// The answer to a SYNC.
inline void expect_same_answer(const olaf_job_setup &setup, const RoundMessage &want, const JobMessage &got) {
    EXPECT_EQ(got.type, OLAF_CONTROL);
    EXPECT_EQ(got.exponent, static_cast<int>(want.status));
    EXPECT_EQ(got.generation, want.generation);
    EXPECT_EQ(got.generated_ns, static_cast<std::uint64_t>(want.time));
    EXPECT_EQ(got.flags, OLAF_FLAG_ANSWER | (want.above ? OLAF_FLAG_ABOVE : 0) |
                             (want.anew ? OLAF_FLAG_ANEW : 0));
    EXPECT_EQ(got.lanes, control_lanes(with_time_kept(want, got)));
    EXPECT_EQ(got.rank, want.rank);
    if (counts_members(want)) {
        EXPECT_EQ(got.chunks, want.missing);
    } else {
        EXPECT_EQ(got.chunks, static_cast<std::uint32_t>(setup.lanes) << 16 | setup.shape);
    }
    if (want.status == RoundMessage::Status::done) {
        EXPECT_EQ(std::tie(got.round, got.chunk, got.pool),
                  std::tie(want.round, want.chunk, want.pool));
    }
}

} // namespace olaf::test
