// SPDX-License-Identifier: BSD-2-Clause
// Random messages of a job's children, and orders about its members, as the model and the kernel get them.
#pragma once

#include <arpa/inet.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <map>
#include <random>
#include <set>

#include "rounds_test.hpp"
#include "tests/model/round_node.hpp"

namespace olaf::test {

using model::RoundMessage;
using model::RoundNode;

inline std::uint64_t number_of(const char *name, std::uint64_t otherwise) {
    const char *text = std::getenv(name);
    return text != nullptr ? std::strtoull(text, nullptr, 0) : otherwise;
}

struct Rules {
    const char *name;
    std::uint32_t children, threshold;
    bool any = false;
    std::uint32_t first_round = 0;
    std::set<std::uint32_t> absent = {}; ///< at first
    bool changes = false;                ///< members come, go and give orders
    bool multicast = false;              ///< results leave so
    bool floats = false;                 ///< the frames' lanes; the model adds integers
};

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

/// A model's message as a frame of the job's carries it. `floats`: as_floats() of its lanes.
inline JobMessage on_wire(const olaf_job_setup &setup, const RoundMessage &message, bool floats = false) {
    JobMessage wire{.flags = setup.shape, .job = setup.id, .rank = message.rank,
                    .round = message.round, .count = message.count,
                    .generated_ns = static_cast<std::uint64_t>(message.time),
                    .chunk = message.chunk, .chunks = message.chunks,
                    .generation = message.generation, .exponent = message.exponent,
                    .pool = message.pool, .lanes = message.lanes};
    if (floats)
        std::ranges::transform(message.lanes, wire.lanes.begin(), as_floats);
    if (message.partial)
        wire.flags |= OLAF_FLAG_PARTIAL;
    if (message.late)
        wire.flags |= OLAF_FLAG_LATE;
    if (message.kind == RoundMessage::Kind::result)
        wire.type = OLAF_RESULT;
    if (message.stale)
        wire.flags = setup.shape | OLAF_FLAG_STALE;
    if (message.kind == RoundMessage::Kind::sync) {
        wire.type = OLAF_CONTROL;
        wire.flags = 0;
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
        wire.chunks = answers && message.status != RoundMessage::Status::wait
                          ? static_cast<std::uint32_t>(setup.lanes) << 16 | setup.shape
                          : message.missing;
        wire.exponent = answers ? static_cast<std::int16_t>(message.status) : std::int16_t{0};
    }
    return wire;
}

/// The answer to a SYNC.
inline void expect_same_answer(const olaf_job_setup &setup, const RoundMessage &want, const JobMessage &got) {
    EXPECT_EQ(got.type, OLAF_CONTROL);
    EXPECT_EQ(got.exponent, static_cast<int>(want.status));
    EXPECT_EQ(got.generation, want.generation);
    EXPECT_EQ(got.generated_ns, static_cast<std::uint64_t>(want.time));
    if (want.status == RoundMessage::Status::wait) {
        EXPECT_EQ(got.chunks, want.missing);
        EXPECT_EQ(got.rank, want.rank);
    }
    if (want.status == RoundMessage::Status::done) {
        EXPECT_EQ(got.chunks, static_cast<std::uint32_t>(setup.lanes) << 16 | setup.shape);
        EXPECT_EQ(std::tie(got.round, got.chunk, got.pool),
                  std::tie(want.round, want.chunk, want.pool));
    }
}

/// Chunks that are used of the job's slots, so few that the line is never long: no frame becomes an
/// order for TC.
inline constexpr std::uint32_t chunks = 4;

class RoundsMessages : public RoundsTest, public testing::WithParamInterface<Rules> {
  protected:
    RoundsMessages()
        : RoundsTest(setup_of(GetParam())),
          model({.children = setup.children,
                 .threshold = setup.threshold,
                 .any = GetParam().any,
                 .max_count = setup.max_count,
                 .pool = static_cast<std::uint8_t>(setup.pool),
                 .absent = GetParam().absent,
                 .multicast = GetParam().multicast},
                job_generation),
          base(GetParam().first_round) {
        auto waiting = job();
        waiting.state = OLAF_JOB_SYNCING; // as the model begins
        waiting.membership.unsettled = setup.slots << (GetParam().absent.empty() ? 0 : 1);
        waiting.membership.flags =
            OLAF_MEMBERS_YOUNG | (GetParam().absent.empty() ? 0 : OLAF_MEMBERS_FORGOT);
        waiting.membership.away = GetParam().absent.empty() ? 0 : 1;
        for (const auto rank : GetParam().absent)
            for (auto &set : waiting.membership.absent)
                set.word[0] |= 1ull << rank;
        set_job(waiting);
        identities_hold = !GetParam().changes; // results aren't owed to all children then
    }
    static olaf_job_setup setup_of(const Rules &rules) {
        auto setup = small_job();
        setup.children = rules.children;
        setup.threshold = rules.threshold;
        setup.flags = rules.any ? OLAF_JOB_ANY : 0;
        setup.max_count = 1 << 30;
        setup.pool = rules.changes ? 5 : 6; // few chunks, behind which a change is over
        setup.slots = 1u << setup.pool;
        if (rules.floats) {
            setup.shape = OLAF_FORMAT_F32X2 << OLAF_FLAG_FORMAT_SHIFT;
            setup.float_bits = OLAF_DEFAULT_FLOAT_BITS;
            setup.float_headroom = OLAF_MOST_FLOAT_HEADROOM;
            setup.max_count = OLAF_LIMIT_MAX_COUNT;
        }
        if (rules.multicast) {
            setup.group_family = 4;
            setup.group_hops = 1;
            setup.group_addr_be[0] = htonl(0xef010203);
        }
        return setup;
    }

    std::uint32_t below(std::uint32_t end) { return static_cast<std::uint32_t>(random() % end); }
    bool chance(std::uint32_t percent) { return below(100) < percent; }

    RoundMessage some_message() {
        RoundMessage message{.rank = below(setup.children), .time = ++clock};
        message.generation = model.generation();
        if (GetParam().changes && some_order(message))
            return message;
        if (!model.running() || below(2000) == 0) {
            message.kind = RoundMessage::Kind::sync;
            message.round = base + below(3);
            message.chunk = below(chunks);
            message.pool = static_cast<std::uint8_t>(4 + below(4));
            if (chance(30))
                message.time = stamps[message.rank]; // the same question again
            else
                stamps[message.rank] = message.time;
            return message;
        }
        message.chunk = below(chunks);
        message.chunks = chunks;
        message.round = base + below(2);
        if (chance(5))
            message.round += below(5) - 2;
        if (chance(2))
            message.generation += below(3) - 1;
        if (chance(5))
            message.time -= below(20);
        message.count = 1 + below(3);
        message.exponent = static_cast<std::int16_t>(below(65536));
        message.partial = chance(3);
        if (chance(5))
            return message; // a probe
        for (int lane = 0; lane < 5; lane++)
            message.lanes.push_back(some_lane());
        return message;
    }

    std::uint64_t some_lane() {
        if (!GetParam().floats)
            return random();
        const auto part = [this] { return std::uint64_t{below(1 << 21)} - (1 << 20); };
        return part() + (part() << 32);
    }

    /// Makes it one, now and then.
    bool some_order(RoundMessage &message) {
        using Action = RoundMessage::Action;
        struct Often {
            Action action;
            std::uint32_t in; ///< one of so many messages
        };
        constexpr Often all[] = {{Action::join, 60},    {Action::leave, 1000},
                                 {Action::seth, 1000},  {Action::fbcast, 1500},
                                 {Action::halt, 2000},  {Action::resume, 60},
                                 {Action::reset, 4000}};
        for (const auto &[action, in] : all) {
            if (below(in) != 0)
                continue;
            message.kind = RoundMessage::Kind::order;
            message.action = action;
            message.round = base + below(3);
            if (action == Action::seth)
                message.missing = chance(50) ? setup.children : below(setup.children + 2);
            // Mostly who isn't there; now and then a member that has lost everything, or the same again.
            if (action == Action::join && model.members().contains(message.rank) && !chance(5))
                message.time = joins[message.rank];
            else if (action == Action::join)
                joins[message.rank] = message.time;
            return true;
        }
        return false;
    }

    [[nodiscard]] JobMessage on_wire(const RoundMessage &message) const {
        return test::on_wire(setup, message, GetParam().floats);
    }

    std::mt19937_64 random{number_of("OLAF_SEED", 1)};
    RoundNode model;
    std::uint32_t base;
    std::int64_t clock = 1'000'000;
    std::map<std::uint32_t, std::int64_t> stamps, joins;
    /// Messages, by what they were and what was answered first.
    std::map<std::tuple<RoundMessage::Kind, RoundMessage::Action, RoundMessage::Status>, std::uint64_t> seen;
};

} // namespace olaf::test
