// SPDX-License-Identifier: BSD-2-Clause
// The steps of the differential test: each message meets the kernel and the model, and the answers agree.
#pragma once

#include <bit>
#include <ctime>

#include "rounds_differential.hpp"
#include "rounds_hostile.hpp"

namespace olaf::test {

class RoundsDifferentialSteps : public RoundsMessages {
  protected:
    /// What the model's answer says, of what the kernel's may.
    void expect_same(const RoundMessage &want, JobMessage got) {
        auto expected = on_wire(want);
        if (want.stale) { // what it echoes beside the chunk means nothing
            expected.generated_ns = got.generated_ns;
            expected.exponent = got.exponent;
        }
        EXPECT_EQ(expected, got);
    }

    /// A result that rides, or leaves in a clone: whoever it is for, it must be the sum of its chunk. One for
    /// all goes to their group, and everybody's part is in it.
    void expect_right(const ReceivedJobMessage &received) {
        const JobMessage &got = received.message;
        const bool is_for_all = got.rank == OLAF_EVERY_WORKER;
        const auto known = sums.find({got.generation, got.round, got.chunk});
        ASSERT_NE(known, sums.end()) << "no such sum";
        auto [expected, in, had, added, partial] = known->second;
        expected.rank = got.rank;
        expected.pool = got.pool;
        const auto *held = model.done(got.round, got.chunk);
        ASSERT_NE(held, nullptr) << "this chunk isn't done";
        expected.partial = held->sum.partial;
        EXPECT_EQ(is_for_all, (received.frame.bytes[0] & 1) != 0) << "a MAC address of all";
        if (is_for_all) {
            EXPECT_TRUE(GetParam().multicast);
            EXPECT_TRUE(GetParam().changes || in.size() == setup.children) << "one is LATE";
            EXPECT_EQ(held->in, in);
            for_all += held->deliveries;
        } else if (!GetParam().multicast) { // there, who asks isn't taken out of those that one frame is for
            EXPECT_TRUE(known->second.had.insert(got.rank).second) << "twice";
        }
        if (!GetParam().changes) { // then it follows from what was added
            EXPECT_EQ(expected.partial,
                      known->second.partial ||
                          added < (GetParam().any ? setup.threshold : setup.children));
        }
        expected.late = !is_for_all && !in.contains(got.rank);
        expect_same(expected, got);
    }

    /// The contribution was added: so is it here.
    void remember(const RoundMessage &message) {
        auto &[sum, in, had, added, partial] = sums[{message.generation, message.round, message.chunk}];
        partial = partial || message.partial;
        in.insert(message.rank);
        if (added++ == 0) {
            sum = message;
            sum.kind = RoundMessage::Kind::result;
        } else {
            sum.count += message.count;
            sum.partial = sum.partial || message.partial;
            sum.time = std::max(sum.time, message.time);
            sum.exponent = std::max(sum.exponent, message.exponent);
            for (std::size_t i = 0; i < sum.lanes.size(); i++)
                sum.lanes[i] += message.lanes[i];
        }
    }

    void step(const RoundMessage &message) {
        RoundNode::Out out;
        const auto before = model.counters();
        const bool was_running = model.running();
        now += 1000;
        model.arrive(now, 0, message, out);
        const auto &after = model.counters();
        if (after.added != before.added)
            remember(message);
        const auto wire = on_wire(message);
        EXPECT_EQ(gate.judge(olaf::test::seen(wire, sender_of(message.rank), setup.shape)), RoundRefusal::none);
        const auto ran = offer(wire);
        seen[{message.kind, message.action, out.empty() ? message.status : out[0].message.status}]++;
        if (message.kind == RoundMessage::Kind::order && message.action == RoundMessage::Action::fbcast)
            await_tick();
        const bool rides = out.empty() || after.completed != before.completed ||
                           (model.running() && model.halted()) || after.added != before.added ||
                           after.ahead != before.ahead || out[0].message.round != message.round ||
                           out[0].message.chunk != message.chunk || out[0].to != message.rank;
        if (after.no_room != before.no_room)
            return dropped(ran);
        if (ran.verdict == XDP_DROP) {
            EXPECT_TRUE(rides) << "the sender got no answer";
        } else if (ran.verdict == XDP_PASS) {
            expect_clones(message, ran, rides);
        } else {
            expect_answer(message, out, ran, rides);
        }
        if (message.kind == RoundMessage::Kind::contribution && rides && (message.flush || ran.verdict != XDP_TX))
            expect_none_waits(message.flush);
        if (shares_slots())
            note(message, out, was_running);
    }

    /// What the frame at hand has become.
    void expect_answer(const RoundMessage &message, const RoundNode::Out &out, const Ran &ran, bool rides) {
        ASSERT_STREQ(verdict_name(ran.verdict), "XDP_TX");
        const auto got = parse_job_message(ran.bytes);
        ASSERT_TRUE(got);
        if (message.kind == RoundMessage::Kind::order)
            return expect_same(out.at(0).message, got->message);
        if (message.kind == RoundMessage::Kind::sync)
            return expect_same_answer(setup, out.at(0).message, got->message);
        if (rides)
            return expect_right(*got);
        expect_same(out[0].message, got->message);
        if (got->message.type == OLAF_RESULT && !out[0].message.stale)
            sums[{got->message.generation, got->message.round, got->message.chunk}].had.insert(message.rank);
    }

    /// The frame has become an order for TC, as its sender waits or the line is long.
    void expect_clones(const RoundMessage &message, const Ran &order, bool rides) {
        EXPECT_TRUE(rides) << "the sender got no answer, but an order came of it";
        EXPECT_TRUE(message.flush || longest_line() > setup.slots / 2) << "nobody waits";
        orders[message.flush]++;
        for (const auto &clone : clones_of(order)) {
            const auto got = parse_job_message(clone.bytes);
            ASSERT_TRUE(got);
            SCOPED_TRACE("clone for " + std::to_string(got->message.rank));
            expect_right(*got);
            if (got->message.rank == OLAF_EVERY_WORKER)
                continue;
            sent_to(got->message.rank, clone);
            copied++;
        }
    }

    /// A frame that could carry a result carried none, so there is none, or is a FLUSH, behind which none is left.
    /// Other frames look at four results at most, and those of a generation that is over may be the first in line.
    void expect_none_waits(bool flushes) {
        std::uint64_t waiting = 0;
        for (std::uint32_t i = 0; i < std::min(chunks, setup.slots); i++)
            for (const auto held = slot(i); const auto &buffer : held.buffer)
                if (buffer.state == OLAF_ROUND_DONE && buffer.generation == model.generation())
                    waiting += static_cast<std::uint64_t>(std::popcount(buffer.owed.word[0]));
        if (flushes) {
            EXPECT_EQ(waiting, 0u) << "after a FLUSH";
        }
        passed_over += waiting > 0 ? 1u : 0u;
    }

    /// Chunks that share slots: where they go on.
    void note(const RoundMessage &message, const RoundNode::Out &out, bool was_running) {
        if (message.kind == RoundMessage::Kind::sync && !was_running && model.running())
            begin_at(out.at(0).message);
        const bool is_over = message.kind == RoundMessage::Kind::contribution && !out.empty() &&
                             out[0].message.stale && message.generation == model.generation();
        if (is_over && is_at_front(message)) // a newer one has taken its room
            front++;
    }

    /// A frame that no worker of the job sends, instead of a good one: nothing comes of it but its count.
    void hostile_step() {
        auto message = some_message();
        if (message.kind != RoundMessage::Kind::contribution || message.lanes.empty() || message.count > 3)
            return;
        auto wire = on_wire(message);
        auto sender = sender_of(message.rank);
        const auto how = static_cast<Hostility>(below(hostilities));
        if ((how == Hostility::others_rank && setup.children < 2) ||
            (how == Hostility::other_port && !is_bound(message.rank)))
            return;
        spoil(how, wire, sender, setup.children);
        const auto refusal = gate.judge(olaf::test::seen(wire, sender, setup.shape));
        ASSERT_NE(refusal, RoundRefusal::none) << "hostility " << static_cast<int>(how);
        const auto ran = offer(wire, olaf::test::path_of(sender));
        EXPECT_STREQ(verdict_name(ran.verdict), refusal == RoundRefusal::no_job ? "XDP_PASS" : "XDP_DROP")
            << "hostility " << static_cast<int>(how);
        refused[refusal]++;
        hostile[static_cast<std::size_t>(how)]++;
        EXPECT_EQ(counted(queue.counters(), refusal),
                  refused[refusal] + (refusal == RoundRefusal::count ? model.counters().no_room : 0))
            << "hostility " << static_cast<int>(how);
    }

    /// Each rank is bound before anybody can take it.
    void bind_all() {
        for (std::uint32_t rank = 0; rank < setup.children; rank++)
            if (is_bound(rank))
                bind_for_good(queue, rank);
        for (std::uint32_t rank = 0; rank < setup.children; rank++)
            step({.kind = RoundMessage::Kind::contribution, .rank = rank, .chunks = chunks, .generation = 0, .time = 1});
    }

    /// The kernel tells by its tick what was open when a member sealed: what comes next is of another one.
    static void await_tick() {
        const auto now = [] {
            timespec time{};
            clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
            return std::tuple(time.tv_sec, time.tv_nsec);
        };
        for (const auto began = now(); now() == began;)
            continue;
    }

    olaf::model::RoundGate gate{setup.id, setup.children, setup.lanes};
    std::map<RoundRefusal, std::uint64_t> refused;
    std::array<int, hostilities> hostile{}; ///< steps of each kind
    std::uint64_t now = 0;
    struct Sum {
        RoundMessage message;
        std::set<std::uint32_t> in, had; ///< who has got it
        std::uint32_t added = 0;
        bool partial = false; ///< one of them was
    };
    std::uint64_t for_all = 0;           ///< members that frames for all were for
    std::uint64_t copied = 0;            ///< results for one that left in clones
    std::map<bool, std::uint64_t> orders; ///< for TC: of a FLUSH, of a long line
    std::uint64_t passed_over = 0;       ///< times that a frame carried nothing while a result waited
    /// By generation, round and chunk.
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, Sum> sums;
};

} // namespace olaf::test
