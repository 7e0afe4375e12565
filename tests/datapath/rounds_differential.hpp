// SPDX-License-Identifier: BSD-2-Clause
// Random messages of a job's children, and orders about its members, as the model and the kernel get them.
#pragma once

#include <arpa/inet.h>

#include <map>
#include <random>
#include <set>

#include "rounds_clones.hpp"
#include "rounds_wire.hpp"

namespace olaf::test {

struct Rules {
    const char *name;
    std::uint32_t children, threshold;
    bool any = false;
    std::uint32_t first_round = 0;
    std::set<std::uint32_t> absent = {}; ///< at first
    bool changes = false;                ///< members come, go and give orders
    bool multicast = false;              ///< results leave so
    bool floats = false;                 ///< the frames' lanes; the model adds integers
    std::uint64_t deadline_ns = 0;       ///< so short that every repetition is past it; 0: none
    std::optional<std::uint32_t> pool = {}; ///< so few slots that chunks share them: 2^pool
};

class RoundsMessages : public RoundsWithClones, public testing::WithParamInterface<Rules> {
  protected:
    RoundsMessages()
        : RoundsWithClones(setup_of(GetParam())),
          model({.children = setup.children,
                 .threshold = setup.threshold,
                 .any = GetParam().any,
                 .max_count = setup.max_count,
                 .pool = static_cast<std::uint8_t>(setup.pool),
                 .deadline_ns = setup.deadline_ns,
                 .absent = GetParam().absent,
                 .multicast = GetParam().multicast},
                job_generation),
          base(GetParam().first_round), front(std::uint64_t{base} * chunks) {
        auto waiting = job();
        waiting.state = OLAF_JOB_SYNCING; // as the model begins
        waiting.membership.unsettled = 2 * setup.slots;
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
        setup.deadline_ns = rules.deadline_ns;
        setup.pool = rules.pool.value_or(rules.changes ? 5 : 6); // few chunks, behind which a change is over
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
        if (shares_slots())
            follow();
        if (GetParam().changes && some_order(message))
            return message;
        if (!model.running() || below(2000) == 0)
            return some_question(message);
        message.chunks = chunks;
        if (shares_slots()) {
            put(message, some_position());
        } else {
            message.chunk = below(chunks);
            message.round = base + below(2);
            if (chance(5))
                message.round += below(5) - 2;
        }
        if (chance(2))
            message.generation = chance(50) ? model.generation() - 1 + 2 * below(2) : below(2) * static_cast<std::uint32_t>(random());
        if (chance(5))
            message.time -= below(20);
        message.count = chance(1) ? too_many(message) : 1 + below(3);
        message.exponent = static_cast<std::int16_t>(below(65536));
        message.partial = chance(3);
        message.flush = chance(5);
        if (chance(5))
            return message; // a probe
        for (int lane = 0; lane < 5; lane++)
            message.lanes.push_back(some_lane());
        return message;
    }

    /// Where to begin.
    RoundMessage some_question(RoundMessage message) {
        message.kind = RoundMessage::Kind::sync;
        if (shares_slots()) {
            put(message, front - below(2 * setup.slots + 1));
            message.pool = static_cast<std::uint8_t>(below(4));
        } else {
            message.round = base + below(3);
            message.chunk = below(chunks);
            message.pool = static_cast<std::uint8_t>(4 + below(4));
        }
        message.padding = some_padding();
        if (chance(30))
            message.time = stamps[message.rank]; // the same question again
        else
            stamps[message.rank] = message.time;
        return message;
    }

    // Chunks that share slots go one after the other. A position counts those of all rounds.
    [[nodiscard]] bool shares_slots() const { return setup.slots < chunks; }
    static std::uint32_t round_at(std::uint64_t position) { return static_cast<std::uint32_t>(position / chunks); }
    static std::uint32_t chunk_at(std::uint64_t position) { return static_cast<std::uint32_t>(position % chunks); }
    static void put(RoundMessage &message, std::uint64_t position) {
        message.round = round_at(position);
        message.chunk = chunk_at(position);
    }
    [[nodiscard]] bool is_at_front(const RoundMessage &message) const {
        return message.round == round_at(front) && message.chunk == chunk_at(front);
    }
    /// Mostly where the window lets a sender be that holds all earlier results; else it repeats what was before,
    /// or is so far ahead that an older chunk has the room, or never gets it.
    std::uint64_t some_position() {
        const auto which = below(100);
        if (which < 60)
            return front + below(setup.slots);
        return which < 85 ? front - 1 - below(2 * setup.slots) : front + setup.slots + below(2 * setup.slots);
    }
    /// The first chunk without a result comes next.
    void follow() {
        while (model.done(round_at(front), chunk_at(front)) != nullptr)
            front++;
        base = round_at(front);
    }
    /// Where all begin anew.
    void begin_at(const RoundMessage &place) {
        const auto rounds = static_cast<std::int32_t>(place.round - round_at(front));
        front += static_cast<std::uint64_t>(std::int64_t{rounds} * chunks) + place.chunk - chunk_at(front);
    }
    /// Time passes: the next round begins, whatever became of this one.
    void next_round() {
        if (shares_slots() && std::exchange(front_before, front) == front)
            front += chunks;
        base++;
    }

    /// One contribution more than there is room for in its chunk.
    std::uint32_t too_many(const RoundMessage &message) const {
        const auto *open = model.open(message.round, message.chunk);
        return setup.max_count + 1 - (open != nullptr ? open->sum.count : 0);
    }

    /// A question that is as long as a contribution, now and then.
    std::uint16_t some_padding() { return chance(30) ? setup.lanes : std::uint16_t{0}; }

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
        // In few slots a change is soon over: so that somebody is away nevertheless.
        const Often all[] = {{Action::join, shares_slots() ? 150u : 60u},
                             {Action::leave, shares_slots() ? 400u : 1500u},
                             {Action::seth, 1000},  {Action::fbcast, 1500},
                             {Action::halt, 2000},  {Action::resume, 60},
                             {Action::reset, 4000}};
        for (const auto &[action, in] : all) {
            if (below(in) != 0)
                continue;
            message.kind = RoundMessage::Kind::order;
            message.action = action;
            message.round = base + below(3);
            message.padding = some_padding();
            if (action == Action::seth)
                message.missing = chance(50) ? setup.children : below(setup.children + 2);
            // Mostly who isn't there; now and then a member that has lost everything, or the same again.
            if (action == Action::join && model.members().contains(message.rank) && !chance(3))
                message.time = joins[message.rank];
            else if (action == Action::join)
                joins[message.rank] = message.time;
            return true;
        }
        return false;
    }

    /// Results in the longest line, or a few more.
    [[nodiscard]] std::uint32_t longest_line() const {
        std::uint32_t longest = 0;
        const auto now = job();
        for (const auto &line : now.line)
            longest = std::max(longest, line.tail - line.head);
        return longest;
    }

    [[nodiscard]] JobMessage on_wire(const RoundMessage &message) const {
        return test::on_wire(setup, message, GetParam().floats);
    }

    std::mt19937_64 random{seed()};
    RoundNode model;
    std::uint32_t base;
    std::uint64_t front, front_before = 0; ///< positions
    std::int64_t clock = 1'000'000;
    std::map<std::uint32_t, std::int64_t> stamps, joins;
    /// Messages, by what they were and what was answered first.
    std::map<std::tuple<RoundMessage::Kind, RoundMessage::Action, RoundMessage::Status>, std::uint64_t> seen;
};

} // namespace olaf::test
