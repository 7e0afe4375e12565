// SPDX-License-Identifier: BSD-2-Clause
// Random messages of children, of strange generations, old rounds and repetitions among them: the
// kernel and the model of a node (tests/model/round_node.hpp, written from docs/rounds.md) agree on
// each step. OLAF_STEPS sets how many, OLAF_SEED which.
#include "rounds_differential_steps.hpp"

namespace olaf::test::rounds_differential_test {
namespace {

class RoundsDifferential : public RoundsDifferentialSteps {
  protected:
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
        EXPECT_EQ(copied, got.copied);
        EXPECT_EQ(want.deliveries, got.riding + copied + for_all + got.undelivered + owed());
        EXPECT_LE(passed_over, 2 * want.stopped);
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
        EXPECT_GT(counted.no_room, steps / 5000);
        for (std::size_t how = 0; how < hostilities; how++)
            EXPECT_GT(hostile[how], how == static_cast<std::size_t>(Hostility::others_rank) && setup.children < 2 ? -1 : 50) << "hostility " << how;
        const bool has_whole_sums = GetParam().threshold == GetParam().children;
        EXPECT_EQ(counters().multicast > steps / 200, GetParam().multicast && has_whole_sums);
        for (const auto count : {counted.duplicate, counted.stale, counted.probes, counted.repeated})
            EXPECT_GT(count, steps / 100);
        // Only a chunk that needn't all be in can be done without somebody; one alone completes all at once.
        const bool some_come_late = !has_whole_sums || GetParam().any || GetParam().changes || GetParam().deadline_ns != 0;
        EXPECT_EQ(counted.late > steps / 1000, some_come_late);
        EXPECT_EQ(counted.ahead > 0, setup.children > 1);
        EXPECT_GT(counted.syncs, 20u);
        EXPECT_GT(counted.stopped, 10u);
        // What is the same for all leaves in the frame that waits.
        EXPECT_TRUE((GetParam().multicast && has_whole_sums) || orders[true] > steps / 1000);
        EXPECT_TRUE(!shares_slots() || orders[false] > steps / 1000);
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
                                         Rules{"OfFloatsWhoComeAndGo", 3, 2, false, 0, {2}, true, false, true},
                                         Rules{"PastADeadline", 3, 3, false, 0, {}, false, false, false, 1},
                                         Rules{"PastADeadlineOfFloats", 4, 4, false, 0xfffffff0, {}, false, false, true, 1},
                                         Rules{.name = "InOneSlot", .children = 3, .threshold = 3, .first_round = 0xfffffff0, .pool = 0},
                                         Rules{.name = "TwoOfThreeInTwoSlots", .children = 3, .threshold = 2, .pool = 1},
                                         Rules{.name = "InOneSlotWhoComeAndGo", .children = 3, .threshold = 3, .changes = true, .pool = 0},
                                         Rules{.name = "OfFloatsInTwoSlots", .children = 4, .threshold = 4, .floats = true, .pool = 1}),
                         [](const auto &info) { return info.param.name; });

TEST_P(RoundsDifferential, KernelAndModelAgreeStepByStep) {
    // A change of members is over after many rounds, unless the next one comes before.
    const auto steps = number_of("OLAF_STEPS", GetParam().changes ? 200'000 : 100'000);
    bind_all();
    for (std::uint64_t i = 0; i < steps && !HasFailure(); i++) {
        if (i % ((GetParam().changes ? 20 : 30) * setup.children) == 0) // long enough for most to come
            next_round();
        const auto message = some_message();
        SCOPED_TRACE(step_of_seed(i));
        step(message);
        if (chance(5))
            hostile_step();
    }
    expect_same_counters();
    for (const auto refusal : refusals)
        EXPECT_EQ(counted(queue.counters(), refusal),
                  refused[refusal] + (refusal == RoundRefusal::count ? model.counters().no_room : 0));
    expect_variety(steps);
}

} // namespace
} // namespace olaf::test::rounds_differential_test
