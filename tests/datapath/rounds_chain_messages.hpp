// SPDX-License-Identifier: BSD-2-Clause
// What arrives at two nodes in a chain: random messages and orders of workers, and what is under way between the nodes.
#pragma once

#include <random>
#include <utility>

#include "rounds_chain.hpp"

namespace olaf::test {

class RoundsChainMessages : public RoundsTree {
  protected:
    using Kind = RoundMessage::Kind;

    RoundsChainMessages() : RoundsTree(lower_job(GetParam())) {
        auto waiting = job();
        waiting.state = OLAF_JOB_SYNCING;
        waiting.parent_generation = 0;
        waiting.membership.unsettled = 2 * setup.slots;
        waiting.membership.flags = OLAF_MEMBERS_YOUNG;
        set_job(waiting);
        front_low.round.fill(0xfffffff0);
        front_high.round.fill(0xfffffff0);
        identities_hold = false; // members change: a result isn't owed to all children
    }

    std::uint32_t below(std::uint32_t end) { return static_cast<std::uint32_t>(random() % end); }
    bool chance(std::uint32_t percent) { return below(100) < percent; }

    /// Of a worker's; the ranks are those of its node.
    RoundMessage some_message(const RoundNode &model, Front &front, std::uint32_t workers,
                              std::map<std::uint32_t, std::int64_t> &stamps) {
        RoundMessage message{.rank = below(workers), .time = ++clock};
        message.generation = model.generation();
        if (!model.running() || below(3000) == 0) {
            message.kind = Kind::sync;
            message.generation = 0;
            message.round = std::ranges::min(front.round, {}, [](std::uint32_t round) {
                return static_cast<std::int32_t>(round);
            });
            message.pool = pool;
            if (stamps.contains(message.rank) && chance(model.running() ? 50 : 90))
                message.time = stamps[message.rank]; // the same question again
            else
                stamps[message.rank] = message.time;
            return message;
        }
        front.go_on(model);
        message.chunk = below(chunks);
        message.chunks = chunks;
        message.round = front.round[message.chunk];
        // No worker is in a round before it has the last one's result, but at the root one may have got ahead.
        if (chance(10))
            message.round += below(&model == &high ? 4 : 3) - 2;
        if (chance(2))
            message.generation += below(3) - 1;
        message.count = 1 + below(3);
        message.exponent = static_cast<std::int16_t>(below(65536));
        message.partial = chance(3);
        message.flush = chance(5);
        if (chance(5))
            return message; // a probe
        for (std::uint32_t lane = 0; lane < setup.lanes; lane++)
            message.lanes.push_back(random());
        return message;
    }

    /// An order of a worker's at the lower node, now and then.
    std::optional<RoundMessage> some_order() {
        using Action = RoundMessage::Action;
        struct Often {
            Action action;
            std::uint32_t in; ///< one of so many messages
        };
        constexpr Often all[] = {{Action::join, 80},  {Action::leave, 150},  {Action::seth, 600}, {Action::fbcast, 600},
                                 {Action::halt, 2000}, {Action::resume, 60}, {Action::reset, 3000}};
        for (const auto &[action, in] : all) {
            if (below(in) != 0)
                continue;
            RoundMessage order{.kind = Kind::order, .rank = below(workers_below), .time = ++clock, .action = action};
            order.generation = low.generation();
            order.round = *std::ranges::max_element(front_low.round, [](std::uint32_t a, std::uint32_t b) {
                return static_cast<std::int32_t>(a - b) < 0;
            }) + below(2);
            const bool is_member = low.members().contains(order.rank);
            const bool joins_anew = action == Action::join && (!is_member || chance(3));
            const bool goes = is_member && (joins_anew || action == Action::leave);
            // One of all rounds stays: no node below another can begin anew in a round of no member's. Who has
            // left asks again.
            auto others = low.elders();
            others.erase(order.rank);
            if (goes && (others.empty() || (action == Action::leave && !chance(30))))
                return {};
            if (action == Action::join && !joins_anew)
                order.time = joins[order.rank]; // the same again
            else if (action == Action::join)
                joins[order.rank] = order.time;
            left[order.rank] += goes ? 1 : 0;
            if (action == Action::seth)
                order.missing = chance(60) ? workers_below : below(workers_below + 2);
            return order;
        }
        return {};
    }

    /// One of those under way, the order of which doesn't matter; lost or doubled now and then.
    template <class T> std::optional<T> arrives(std::vector<T> &way) {
        if (way.empty())
            return {};
        const auto which = way.begin() + below(static_cast<std::uint32_t>(way.size()));
        const T message = *which;
        if (!chance(10))
            way.erase(which);
        if (way.size() > 40)
            way.erase(way.begin());
        return chance(10) ? std::nullopt : std::optional(message);
    }

    std::mt19937_64 random{seed()};
    RoundNode low{{.children = workers_below, .max_count = 1 << 30, .pool = pool, .rank_at_parent = own_rank}, job_generation};
    RoundNode high{{.children = workers_above + 1, .max_count = 1 << 30, .pool = pool}, upper_generation};
    Front front_low, front_high;
    std::map<std::uint32_t, std::int64_t> stamps_low, stamps_high, joins;
    std::array<std::uint64_t, workers_below> left{}; ///< how often each went
    std::vector<RoundMessage> up;
    std::vector<JobMessage> down;
    std::int64_t clock = 1'000'000;
};

} // namespace olaf::test
