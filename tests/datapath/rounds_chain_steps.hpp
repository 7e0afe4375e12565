// SPDX-License-Identifier: BSD-2-Clause
// The steps of two nodes in a chain, and of their models.
#pragma once

#include <ctime>

#include "rounds_chain_messages.hpp"
#include "rounds_hostile.hpp"

namespace olaf::test {

class RoundsChainSteps : public RoundsChainMessages {
  protected:
    /// What a node's frames carry, of what the model's may: the same answer, or any results that are owed.
    template <class Node>
    std::vector<JobMessage> answers(Node &node, const RoundNode &model, const Ran &ran, const RoundNode::Out &out,
                                    bool rides) {
        if (ran.verdict == XDP_DROP) {
            EXPECT_TRUE(rides) << "no answer where there must be one";
            return {};
        }
        if (ran.verdict == XDP_PASS) {
            EXPECT_TRUE(rides) << "an order where there must be an answer";
            return clones(node, model, ran);
        }
        const auto received = sent_back(ran);
        if (!received)
            return {};
        const auto &got = received->message;
        if (rides && got.type == OLAF_RESULT && !(got.flags & OLAF_FLAG_STALE))
            expect_owed(node.setup, model, got);
        else
            expect_same(node.setup, out, got);
        return {got};
    }

    /// Those whom no frame comes for get theirs by an order.
    template <class Node> std::vector<JobMessage> clones(Node &node, const RoundNode &model, const Ran &order) {
        std::vector<JobMessage> all;
        for (const auto &clone : clones_of(order, node.queue, net, far, [&] { return node.counters(); })) {
            const auto received = sent_back(clone);
            if (!received)
                continue;
            SCOPED_TRACE("clone for " + std::to_string(received->message.rank));
            expect_owed(node.setup, model, received->message);
            all.push_back(received->message);
        }
        copied += all.size();
        return all;
    }

    static void expect_owed(const olaf_job_setup &setup, const RoundNode &model, const JobMessage &got) {
        const auto *done = model.done(got.round, got.chunk);
        ASSERT_TRUE(done != nullptr) << "this chunk isn't done";
        auto want = done->sum;
        want.kind = Kind::result;
        want.rank = got.rank;
        want.generation = model.generation();
        want.pool = got.pool;
        want.late = done->sum.late || !done->in.contains(got.rank);
        EXPECT_EQ(on_wire(setup, want), got);
    }

    static void expect_same(const olaf_job_setup &setup, const RoundNode::Out &out, const JobMessage &got) {
        ASSERT_FALSE(out.empty()) << "nothing was to leave, but flags " << got.flags << ", round " << got.round
                                  << ", chunk " << got.chunk << " did for " << got.rank;
        auto want = on_wire(setup, out[0].message);
        if (out[0].message.stale) { // what it echoes beside the chunk means nothing
            want.generated_ns = got.generated_ns;
            want.exponent = got.exponent;
        }
        if (out[0].message.kind == Kind::sync_answer)
            expect_same_answer(setup, out[0].message, got);
        else
            EXPECT_EQ(want, got);
    }

    /// Nothing that is owed stays where whoever contributed last waits.
    template <class Node> static void expect_none_waits(Node &node, const RoundNode &model) {
        for (std::uint32_t i = 0; i < chunks; i++)
            for (const auto held = node.slot(i); const auto &buffer : held.buffer)
                if (buffer.state == OLAF_ROUND_DONE && buffer.generation == model.generation()) {
                    EXPECT_EQ(buffer.owed.word[0], 0u) << "chunk " << i;
                }
    }

    /// Whether the frame of that message may carry any result.
    static bool rides(const RoundMessage &message, const RoundNode::Out &out) {
        if (message.kind == Kind::sync || message.kind == Kind::sync_answer || message.kind == Kind::order)
            return out.empty();
        if (out.empty())
            return true;
        const auto &first = out[0];
        const bool is_its_answer = !first.up && first.to == message.rank && first.message.round == message.round &&
                                   first.message.chunk == message.chunk && message.kind == Kind::contribution;
        return !first.up && !is_its_answer;
    }

    /// A child's message, at the lower node.
    void step_low(const RoundMessage &message) {
        const auto wire = on_wire(setup, message);
        EXPECT_EQ(gate_low.judge(seen(wire, sender_of(message.rank), setup.shape)), RoundRefusal::none);
        const auto ran = offer(wire, GetParam());
        RoundNode::Out out;
        const auto before = low.counters();
        const bool was_running = low.running(), was_halted = low.halted();
        low.arrive(now, static_cast<std::int64_t>(job().stamp), message, out);
        if (message.kind == Kind::order) {
            orders[{message.action, out.at(0).message.status}]++;
            if (message.action == RoundMessage::Action::fbcast)
                await_clock();
        }
        const bool may_ride = rides(message, out) || low.counters().added != before.added ||
                              low.counters().ahead != before.ahead ||
                              (message.kind == Kind::contribution && was_running && was_halted);
        front_low.note(message, out);
        const bool goes_up = !out.empty() && out[0].up;
        const auto got = answers(*this, low, ran, out, may_ride && !goes_up);
        if (message.kind == Kind::contribution) {
            newest_flushes = message.flush;
            if (message.flush && may_ride && !goes_up)
                expect_none_waits(*this, low);
        }
        if (was_running && !low.running())
            up.clear(), down.clear(); // so that the next generation isn't all of the last one's
        if (!got.empty() && goes_up) {
            up.push_back(out[0].message);
            never_overdue_now();
        }
    }
    /// What arrives at the upper one.
    void step_high(const RoundMessage &message) {
        const auto wire = on_wire(upper.setup, message);
        EXPECT_EQ(gate_high.judge(seen(wire, sender_of(message.rank), upper.setup.shape)), RoundRefusal::none);
        const auto ran = upper.offer(wire);
        RoundNode::Out out;
        const auto before = high.counters();
        high.arrive(now, 0, message, out);
        const bool may_ride = rides(message, out) || high.counters().added != before.added;
        if (message.rank != own_rank)
            front_high.note(message, out);
        for (const auto &got : answers(upper, high, ran, out, may_ride))
            if (got.rank == own_rank)
                down.push_back(got);
        if (message.kind == Kind::contribution && message.flush && may_ride)
            expect_none_waits(upper, high);
    }
    /// What comes down to the lower one.
    void step_down(const JobMessage &message) {
        const auto ran = tell(message);
        RoundNode::Out out;
        low.arrive(now, static_cast<std::int64_t>(job().stamp), from_wire(message), out);
        const bool began = message.type == OLAF_CONTROL && !out.empty() &&
                           out[0].message.status == RoundMessage::Status::done;
        answers(*this, low, ran, out, message.type == OLAF_RESULT || out.empty());
        if (message.type == OLAF_RESULT && newest_flushes)
            expect_none_waits(*this, low);
        if (began)
            front_low.round.fill(message.round), front_high.round.fill(message.round);
    }
    static RoundMessage from_wire(const JobMessage &wire) {
        RoundMessage message{.kind = wire.type == OLAF_RESULT ? Kind::result : Kind::sync_answer,
                             .rank = wire.rank, .round = wire.round, .count = wire.count, .chunk = wire.chunk,
                             .chunks = wire.chunks, .generation = wire.generation,
                             .time = static_cast<std::int64_t>(wire.generated_ns), .exponent = wire.exponent,
                             .pool = wire.pool, .lanes = wire.lanes};
        message.partial = (wire.flags & OLAF_FLAG_PARTIAL) != 0;
        message.late = (wire.flags & OLAF_FLAG_LATE) != 0;
        message.stale = wire.type == OLAF_RESULT && (wire.flags & OLAF_FLAG_STALE) != 0;
        if (wire.type == OLAF_CONTROL) {
            message.status = static_cast<RoundMessage::Status>(wire.exponent);
            message.missing = wire.chunks;
        }
        return message;
    }

    /// What is opened from now on is opened later than what was ordered.
    static void await_clock() {
        const auto now = [] {
            timespec time{};
            clock_gettime(CLOCK_MONOTONIC, &time);
            return std::tuple(time.tv_sec, time.tv_nsec);
        };
        for (const auto began = now(); now() == began;)
            continue;
    }
    /// Each order, and each answer that there is to it, came.
    void expect_orders() {
        using Action = RoundMessage::Action;
        using Status = RoundMessage::Status;
        for (const auto &[action, status] :
             {std::pair(Action::join, Status::done), std::pair(Action::join, Status::wait),
              std::pair(Action::leave, Status::done), std::pair(Action::leave, Status::wait),
              std::pair(Action::seth, Status::done), std::pair(Action::seth, Status::gone),
              std::pair(Action::seth, Status::refused), std::pair(Action::fbcast, Status::done),
              std::pair(Action::fbcast, Status::gone), std::pair(Action::halt, Status::done),
              std::pair(Action::resume, Status::done), std::pair(Action::reset, Status::done)})
            EXPECT_GT((orders[{action, status}]), 0u) << static_cast<int>(action) << " " << static_cast<int>(status);
        EXPECT_GT(low.counters().settled, 5u);
        EXPECT_GT(low.counters().halted, 20u);
        EXPECT_GT(low.counters().partial, 50u);
        EXPECT_GT(high.counters().partial, 50u);
        for (const auto times : left)
            EXPECT_GT(times, 0u);
    }

    void set_up_ns(std::uint64_t ns) {
        for (std::uint32_t i = 0; i < chunks; i++) {
            auto changed = slot(i);
            for (auto &buffer : changed.buffer)
                if (buffer.state == OLAF_ROUND_UP)
                    buffer.up_ns = ns == never_overdue && buffer.up_ns == 1 ? 1 : ns;
            set_slot(i, changed);
        }
    }
    /// What has gone up isn't overdue until time passes.
    void never_overdue_now() { set_up_ns(never_overdue); }
    void time_passes() {
        set_up_ns(1);
        now += 1'000'000'000;
    }

    void expect_same_counters(const RoundNode &model, const olaf_job_counters &got, std::uint64_t owed) {
        const auto &want = model.counters();
        EXPECT_EQ(std::tie(got.received, got.added, got.duplicate, got.late, got.stale, got.ahead, got.probes,
                           got.completed, got.partial, got.syncs, got.up_sent, got.up_again, got.halted,
                           got.controls),
                  std::tie(want.received, want.added, want.duplicate, want.late, want.stale, want.ahead,
                           want.probes, want.completed, want.partial, want.syncs, want.up_sent, want.up_again,
                           want.halted, want.controls));
        EXPECT_EQ(got.silent, 0u);
        EXPECT_EQ(want.deliveries, got.riding + got.copied + got.undelivered + owed);
        EXPECT_TRUE(model.conserves());
    }

    Upper upper{net};
    Capture far{net.far};
    model::RoundGate gate_low{job_id, workers_below, small_job().lanes};
    model::RoundGate gate_high{job_id, workers_above + 1, small_job().lanes};
    bool newest_flushes = false; ///< of the lower node's contributions
    std::uint64_t copied = 0;    ///< results that left in clones
    std::map<std::pair<RoundMessage::Action, RoundMessage::Status>, std::uint64_t> orders; ///< and their answers
    std::uint64_t now = 1'000'000'000;
};

} // namespace olaf::test
