// SPDX-License-Identifier: BSD-2-Clause
// Random messages of children, of strange generations, old rounds and repetitions among them: the
// kernel and the model of a node (tests/model/round_node.hpp, written from docs/rounds.md) agree on
// each step. OLAF_STEPS sets how many, OLAF_SEED which.
#include <ctime>

#include "rounds_differential.hpp"

using namespace olaf::test;

namespace {

class RoundsDifferential : public RoundsMessages {
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

    /// A result that rides: whoever it is for, it must be the sum of its chunk. One for all goes to
    /// their group, and everybody's part is in it.
    void expect_right(const ReceivedJobMessage &received) {
        const JobMessage &got = received.message;
        const bool is_for_all = got.rank == OLAF_EVERY_WORKER;
        const auto known = sums.find({got.generation, got.round, got.chunk});
        ASSERT_NE(known, sums.end()) << "no such sum";
        auto [expected, in, added, partial] = known->second;
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
        auto &[sum, in, added, partial] = sums[{message.generation, message.round, message.chunk}];
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
        model.arrive(0, 0, message, out);
        const auto &after = model.counters();
        if (after.added != before.added)
            remember(message);
        const auto ran = offer(on_wire(message));
        seen[{message.kind, message.action, out.empty() ? message.status : out[0].message.status}]++;
        if (message.kind == RoundMessage::Kind::order && message.action == RoundMessage::Action::fbcast)
            await_tick();
        const bool rides = out.empty() || after.completed != before.completed ||
                           (model.running() && model.halted()) || after.added != before.added ||
                           after.ahead != before.ahead || out[0].message.round != message.round ||
                           out[0].message.chunk != message.chunk || out[0].to != message.rank;
        if (ran.verdict == XDP_DROP) {
            EXPECT_TRUE(rides) << "the sender got no answer";
            return;
        }
        ASSERT_STREQ(verdict_name(ran.verdict), "XDP_TX");
        const auto got = parse_job_message(ran.bytes);
        ASSERT_TRUE(got);
        if (message.kind == RoundMessage::Kind::order)
            expect_same(out.at(0).message, got->message);
        else if (message.kind == RoundMessage::Kind::sync)
            expect_same_answer(setup, out.at(0).message, got->message);
        else if (rides)
            expect_right(*got);
        else
            expect_same(out[0].message, got->message);
    }

    void expect_same_counters() {
        const auto &want = model.counters();
        const auto got = counters();
        if (!GetParam().changes) {
            EXPECT_EQ(want.deliveries, want.completed * setup.children);
        }
        EXPECT_EQ(std::tie(got.received, got.added, got.duplicate, got.late, got.stale, got.ahead,
                           got.probes, got.completed, got.partial, got.syncs, got.halted, got.controls),
                  std::tie(want.received, want.added, want.duplicate, want.late, want.stale,
                           want.ahead, want.probes, want.completed, want.partial, want.syncs,
                           want.halted, want.controls));
        EXPECT_EQ(want.deliveries, got.riding + for_all + got.undelivered + owed());
        if (GetParam().multicast && !GetParam().changes) {
            EXPECT_EQ(for_all, got.multicast * setup.children);
        }
    }
    /// A long stream has a bit of everything.
    void expect_variety(std::uint64_t steps) {
        if (steps < 50'000)
            return;
        const auto &counted = model.counters();
        EXPECT_GT(counted.completed, steps / 100);
        const bool has_whole_sums = GetParam().threshold == GetParam().children;
        EXPECT_EQ(counters().multicast > steps / 200, GetParam().multicast && has_whole_sums);
        for (const auto count : {counted.duplicate, counted.stale, counted.probes, counted.repeated})
            EXPECT_GT(count, steps / 100);
        EXPECT_GT(counted.syncs, 20u);
        EXPECT_GT(counted.stopped, 10u);
        if (GetParam().changes)
            expect_changes();
    }
    /// Each order, and each answer that there is to it, came.
    void expect_changes() {
        using Action = RoundMessage::Action;
        using Status = RoundMessage::Status;
        const auto count = [&](Action action, Status status) {
            return seen[{RoundMessage::Kind::order, action, status}];
        };
        for (const Status status : {Status::done, Status::wait})
            for (const Action action : {Action::join, Action::leave})
                EXPECT_GT(count(action, status), 0u)
                    << static_cast<int>(action) << " " << static_cast<int>(status);
        for (const Action action : {Action::seth, Action::fbcast, Action::halt, Action::resume, Action::reset})
            for (const Status status : {Status::done, Status::gone})
                EXPECT_GT(count(action, status), 0u)
                    << static_cast<int>(action) << " " << static_cast<int>(status);
        EXPECT_GT(count(Action::seth, Status::refused), 0u);
        EXPECT_GT((seen[{RoundMessage::Kind::contribution, Action::join, Status::gone}]), 100u);
        EXPECT_GT((seen[{RoundMessage::Kind::sync, Action::join, Status::gone}]), 5u);
        EXPECT_GT(model.counters().halted, 100u);
        EXPECT_GT(model.counters().settled, 20u);
        EXPECT_GT(model.counters().partial, 100u);
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

    struct Sum {
        RoundMessage message;
        std::set<std::uint32_t> in;
        std::uint32_t added = 0;
        bool partial = false; ///< one of them was
    };
    std::uint64_t for_all = 0; ///< members that frames for all were for
    /// By generation, round and chunk.
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, Sum> sums;
};

INSTANTIATE_TEST_SUITE_P(Of, RoundsDifferential,
                         testing::Values(Rules{"ThreeOfThree", 3, 3}, Rules{"TwoOfThree", 3, 2},
                                         Rules{"OneAlone", 1, 1},
                                         Rules{"AnyFour", 3, 4, true},
                                         Rules{"AcrossTheWrap", 5, 5, false, 0xfffffff0},
                                         Rules{"WhoComeAndGo", 4, 4, false, 0, {}, true},
                                         Rules{"WhoComeAndGoAcrossTheWrap", 3, 3, false, 0xffffff00, {1, 2}, true},
                                         Rules{"AnyWhoComeAndGo", 3, 3, true, 0, {2}, true},
                                         Rules{"ByMulticast", 3, 3, false, 0xfffffff0, {}, false, true},
                                         Rules{"TwoOfThreeByMulticast", 3, 2, false, 0, {}, false, true},
                                         Rules{"ByMulticastWhoComeAndGo", 4, 4, false, 0, {1}, true, true},
                         Rules{"OfFloats", 4, 4, false, 0xfffffff0, {}, false, false, true},
                         Rules{"OfFloatsWhoComeAndGo", 3, 2, false, 0, {2}, true, false, true}),
                         [](const auto &info) { return info.param.name; });

TEST_P(RoundsDifferential, KernelAndModelAgreeStepByStep) {
    const auto steps = number_of("OLAF_STEPS", 100'000);
    for (std::uint64_t i = 0; i < steps && !HasFailure(); i++) {
        if (i % (30 * setup.children) == 0) // long enough for most to come
            base++;
        const auto message = some_message();
        SCOPED_TRACE("step " + std::to_string(i));
        step(message);
    }
    expect_same_counters();
    expect_variety(steps);
}

} // namespace
