// SPDX-License-Identifier: BSD-2-Clause
// Two nodes in a chain, with workers at both: what the lower one sends up is lost, doubled and overtaken
// before the upper one gets it, and so is what comes down. Each node and its model (tests/model) agree on
// each step. OLAF_STEPS sets how many, OLAF_SEED which.
#include "rounds_chain.hpp"

using namespace olaf::test;

namespace {

using Kind = RoundMessage::Kind;

class RoundsChain : public RoundsTree {
  protected:
    RoundsChain() : RoundsTree(of_many_chunks(below_a_parent(GetParam()))) {
        auto waiting = job();
        waiting.state = OLAF_JOB_SYNCING;
        waiting.parent_generation = 0;
        waiting.membership.unsettled = setup.slots;
        waiting.membership.flags = OLAF_MEMBERS_YOUNG;
        set_job(waiting);
        front_low.round.fill(0xfffffff0);
        front_high.round.fill(0xfffffff0);
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
        if (chance(5))
            return message; // a probe
        for (std::uint32_t lane = 0; lane < setup.lanes; lane++)
            message.lanes.push_back(random());
        return message;
    }

    /// What a node's frame carries, of what the model's may: the same answer, or any result that is owed.
    static std::optional<JobMessage> expect_same(const olaf_job_setup &setup, const RoundNode &model, const Ran &ran,
                                                 const RoundNode::Out &out, bool rides) {
        if (ran.verdict == XDP_DROP) {
            EXPECT_TRUE(rides) << "no answer where there must be one";
            return {};
        }
        const auto received = sent_back(ran);
        if (!received)
            return {};
        auto got = received->message;
        if (rides && got.type == OLAF_RESULT && !(got.flags & OLAF_FLAG_STALE)) {
            const auto *done = model.done(got.round, got.chunk);
            EXPECT_TRUE(done != nullptr) << "this chunk isn't done";
            if (done == nullptr)
                return {};
            auto want = done->sum;
            want.kind = Kind::result;
            want.rank = got.rank;
            want.generation = model.generation();
            want.pool = got.pool;
            want.late = done->sum.late || !done->in.contains(got.rank);
            EXPECT_EQ(on_wire(setup, want), got);
            return got;
        }
        EXPECT_FALSE(out.empty()) << "nothing was to leave, but " << hex(received->frame.bytes);
        if (out.empty())
            return {};
        auto want = on_wire(setup, out[0].message);
        if (out[0].message.stale) { // what it echoes beside the chunk means nothing
            want.generated_ns = got.generated_ns;
            want.exponent = got.exponent;
        }
        if (out[0].message.kind == Kind::sync_answer)
            expect_same_answer(setup, out[0].message, got);
        else
            EXPECT_EQ(want, got);
        return got;
    }
    /// Whether the frame of that message may carry any result.
    static bool rides(const RoundMessage &message, const RoundNode::Out &out) {
        if (message.kind == Kind::sync || message.kind == Kind::sync_answer)
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
        const auto ran = offer(on_wire(setup, message), GetParam());
        RoundNode::Out out;
        const auto before = low.counters();
        const bool was_running = low.running();
        low.arrive(now, static_cast<std::int64_t>(job().stamp), message, out);
        const bool may_ride = rides(message, out) || low.counters().added != before.added;
        front_low.note(message, out);
        const bool goes_up = !out.empty() && out[0].up;
        const auto got = expect_same(setup, low, ran, out, may_ride && !goes_up);
        if (was_running && !low.running())
            up.clear(), down.clear(); // so that the next generation isn't all of the last one's
        if (got && goes_up) {
            up.push_back(out[0].message);
            never_overdue_now();
        }
    }
    /// What arrives at the upper one.
    void step_high(const RoundMessage &message) {
        const auto ran = upper.offer(on_wire(upper.setup, message));
        RoundNode::Out out;
        const auto before = high.counters();
        high.arrive(now, 0, message, out);
        const bool may_ride = rides(message, out) || high.counters().added != before.added;
        if (message.rank != own_rank)
            front_high.note(message, out);
        const auto got = expect_same(upper.setup, high, ran, out, may_ride);
        if (got && got->rank == own_rank)
            down.push_back(*got);
    }
    /// What comes down to the lower one.
    void step_down(const JobMessage &message) {
        const auto ran = tell(message);
        RoundNode::Out out;
        low.arrive(now, static_cast<std::int64_t>(job().stamp), from_wire(message), out);
        const bool began = message.type == OLAF_CONTROL && !out.empty() &&
                           out[0].message.status == RoundMessage::Status::done;
        expect_same(setup, low, ran, out, message.type == OLAF_RESULT || out.empty());
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
                           got.completed, got.partial, got.syncs, got.up_sent, got.up_again),
                  std::tie(want.received, want.added, want.duplicate, want.late, want.stale, want.ahead,
                           want.probes, want.completed, want.partial, want.syncs, want.up_sent, want.up_again));
        EXPECT_EQ(want.deliveries, got.riding + got.undelivered + owed);
        EXPECT_TRUE(model.conserves());
    }

    Upper upper;
    std::mt19937_64 random{number_of("OLAF_SEED", 1)};
    RoundNode low{{.children = 2, .max_count = 1 << 30, .pool = pool, .rank_at_parent = own_rank}, job_generation};
    RoundNode high{{.children = workers_above + 1, .max_count = 1 << 30, .pool = pool}, upper_generation};
    Front front_low, front_high;
    std::map<std::uint32_t, std::int64_t> stamps_low, stamps_high;
    std::vector<RoundMessage> up;
    std::vector<JobMessage> down;
    std::int64_t clock = 1'000'000;
    std::uint64_t now = 1'000'000'000;
};

INSTANTIATE_TEST_SUITE_P(OfBothFamilies, RoundsChain, testing::Values(4, 6),
                         [](const auto &info) { return "Ipv" + std::to_string(info.param); });

TEST_P(RoundsChain, BothNodesAndTheirModelsAgreeStepByStep) {
    const auto steps = number_of("OLAF_STEPS", 100'000);
    for (std::uint64_t i = 0; i < steps && !HasFailure(); i++) {
        SCOPED_TRACE("step " + std::to_string(i));
        const auto which = below(100);
        if (which < 30) {
            step_low(some_message(low, front_low, 2, stamps_low));
        } else if (which < 60) {
            step_high(some_message(high, front_high, workers_above, stamps_high));
        } else if (which < 78) {
            if (const auto message = arrives(up))
                step_high(*message);
        } else if (which < 96) {
            if (const auto message = arrives(down))
                step_down(*message);
        } else {
            time_passes();
        }
    }
    expect_same_counters(low, counters(), owed());
    expect_same_counters(high, upper.counters(), upper.owed());
    upper.expect_books();
    if (steps >= 50'000) {
        EXPECT_GT(low.counters().completed, steps / 200);
        EXPECT_GT(high.counters().completed, steps / 200);
        EXPECT_GT(low.counters().up_again, steps / 500);
        EXPECT_GT(low.counters().stopped, 1u);
        EXPECT_GT(high.counters().stopped, 3u);
    }
}

} // namespace
